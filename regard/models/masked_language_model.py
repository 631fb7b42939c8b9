"""Masked language models: an encoder reads a masked text, and a head predicts the masked pieces."""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from regard.attention import name_columns
from regard.config import Before, Doc
from regard.data.columns import Columns
from regard.data.transforms.masking import MASKED_PIECES
from regard.encoders import EncoderChoice
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.heads import HEADS
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_reading, initialise_uniform
from regard.models.settings import EmbedderChoice, HeadChoice, ReadingSettings, WordPosition
from regard.models.text_reader import TextReader, need_one_each
from regard.records import PAD, TEXT, Batch, Decoded, Sequences
from regard.registry import Choice

HeadOfHoles = Annotated[HeadChoice, Before("dropout")]
TiedOutput = Annotated[bool, Doc("Weight tying: share input and output embeddings."), Before("dropout")]


class MaskedLanguageModel(TextReader):
    """p(piece | masked text), independently at each mask (https://arxiv.org/abs/1810.04805, section 3.1).

    Only the states of masks reach the head.
    """

    part_names = "encoder", "head"

    def __init__(self, embedder: Embedder, encoder: Encoder, head: Head) -> None:
        super().__init__()
        if head.reads_source or head.needs_weights:
            problem = "copies from a source, and a masked language model has none"
            raise PartError(problem, "try 'transformed'", setting="head")
        self.embedder, self.encoder, self.head = embedder, encoder, head
        name_columns(encoder, TEXT)

    def states(self, text: Sequences) -> Tensor:
        """Encode ids (batch, n) → states (batch, n, dim). Raises ConfigError where there is not one per piece."""
        return need_one_each(self.encode(text).states, text)

    def fill(self, batch: Batch, places: Tensor) -> Tensor:
        """Return log-probabilities (mask, vocab) of the pieces at places (batch, n), row by row."""
        states = self.states(batch.sequences(TEXT))[places]
        return self.head.log_probs(Decoded(states.unsqueeze(0)), None).squeeze(0)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        states, answers = self.states(batch.sequences(TEXT)), torch.as_tensor(batch.columns[MASKED_PIECES])
        return self.head.nll(Decoded(states), None, answers, smoothing=smoothing)

    def counted(self, batch: Batch) -> Tensor:
        answers: Any = batch.columns[MASKED_PIECES]
        return torch.as_tensor(answers != PAD)


@dataclass(frozen=True)
class ReadingOfHoles(ReadingSettings):
    """Settings of rows that read one text as BERT does."""

    embedder: EmbedderChoice = Choice("segments")
    position: WordPosition = Choice("learned")
    encoder: Annotated[EncoderChoice, Doc("Encoder of the text.")] = Choice("transformer")


def masked_language_model(
    columns: Columns, *, shared: ReadingOfHoles, head: HeadOfHoles = Choice("transformed"), tied: TiedOutput = True
) -> MaskedLanguageModel:
    """p(piece | masked text): an encoder, and a head that predicts each masked piece."""
    reads, encodes = build_reading(shared, len(columns[TEXT]))
    table = reads.output_weight() if tied else None
    model = MaskedLanguageModel(reads, encodes, HEADS.build(head, encodes.dim, len(columns[TEXT]), table))
    return initialise_uniform(model, shared.init_uniform)
