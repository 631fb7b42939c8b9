"""Classifiers that are language models, fine-tuned: GPT (Radford et al. 2018, "Improving Language Understanding")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attended, Recorded, fitting, name_columns, recording
from regard.config import Before, Doc
from regard.data.columns import Columns
from regard.decoders import DecoderChoice
from regard.decoders.decoder import Decoder
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, Pooling
from regard.models.build import initialise_uniform
from regard.models.classifier import PoolingChoice
from regard.models.label_model import AttentionRecords, LabelModel, num_outputs, with_state_read
from regard.models.language_model import DecoderOnly, build_writing, need_no_source
from regard.models.settings import LanguageModelSettings
from regard.ops.dropout import Dropout
from regard.records import BOS, LABEL, TEXT, Batch, Decoded, Sequences
from regard.registry import Choice


class LabelAndText(NamedTuple):
    """Predictions of a causal classifier for a batch, in one pass."""

    log_probs: Tensor  # (batch, class)
    text: Tensor  # (batch): nats per piece given the pieces before it, averaged over each text


class CausalClassifier(DecoderOnly, LabelModel):
    """p(label | text) = softmax(W · pooling(s) + b), s_i the state of a decoder that has read BOS and x_1 … x_i.

    Each state predicts the next piece, as in a language model of the same decoder and head, whose parts have the same
    names: `init` takes them. Only the objective `with_language_model` trains the head.
    """

    def __init__(
        self, decoder: Decoder, head: Head, pooling: Pooling, num_classes: int, *, dropout: float = 0.1
    ) -> None:
        super().__init__(LABEL)
        need_no_source(head)
        self.decoder, self.head, self.pooling = decoder, head, pooling
        self.dropout, self.to_class = Dropout(dropout), nn.Linear(pooling.out_dim, num_classes)
        name_columns(decoder, TEXT)
        name_columns(pooling, TEXT)

    def log_probs(self, batch: Batch) -> Tensor:
        return self._classes(self._states(batch), batch)

    def read(self, batch: Batch) -> LabelAndText:
        """Return the predictions of labels and of pieces."""
        states, (items, mask) = self._states(batch), batch.sequences(TEXT)
        nats = self.head.nll(Decoded(states[:, :-1]), None, items)
        return LabelAndText(self._classes(states, batch), nats.sum(dim=-1) / mask.sum(dim=-1).clamp(min=1))

    def attention_records(self, batch: Batch) -> AttentionRecords:
        """Return the attention of each piece to itself and earlier ones, and that of the state read by the pooling.

        Weights of BOS are left out.
        """
        with recording(self) as records:
            self.log_probs(batch)
        shown = {name: _without_start(one) if one.role.causal else one for name, one in records.items()}
        mask = batch.sequences(TEXT).mask
        return AttentionRecords(with_state_read(fitting(shown, {TEXT: mask.shape[1]}), self.pooling, TEXT, mask))

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return [(self.decoder.embedder, _started(batch.sequences(TEXT)).items)]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        return {**super().parts(), "pooling": [self.pooling]}

    def _states(self, batch: Batch) -> Tensor:
        """Return states (batch, 1 + n, dim), the first one of BOS."""
        rows = torch.arange(len(batch.lines), device=batch.lines.device)
        return self.decoder.forced(_started(batch.sequences(TEXT)), self.decoder.start(rows=rows)).states

    def _classes(self, states: Tensor, batch: Batch) -> Tensor:
        mask = batch.sequences(TEXT).mask
        return self.classes(self.pooling(states[:, 1:].masked_fill(~mask.unsqueeze(-1), 0.0), mask))


@dataclass(frozen=True)
class ReadingLeftToRight(LanguageModelSettings):
    """Settings of a language model that classifies."""

    decoder: Annotated[DecoderChoice, Doc("Left-to-right encoder of the text.")] = Choice("transformer")


def causal_classifier(
    columns: Columns,
    *,
    shared: ReadingLeftToRight,
    readout: Annotated[PoolingChoice, Doc("Pooling of the states into one vector."), Before("dropout")] = Choice(
        "last"
    ),
) -> CausalClassifier:
    """p(label | text): a language model, initialised from one by `init`, and a classifier of its last states."""
    decodes, head = build_writing(shared, len(columns[TEXT]))
    pools = POOLINGS.build(readout, decodes.dim, place="readout")
    model = CausalClassifier(decodes, head, pools, num_outputs(columns), dropout=shared.dropout)
    return initialise_uniform(model.predicting(columns), shared.init_uniform)


def _started(text: Sequences) -> Sequences:
    """Prepend BOS: ids (batch, n) → (batch, 1 + n)."""
    start = text.items.new_full((len(text.items), 1), BOS)
    return Sequences(
        torch.cat([start, text.items], dim=1), torch.cat([torch.ones_like(start, dtype=torch.bool), text.mask], dim=1)
    )


def _without_start(found: Recorded) -> Recorded:
    """Remove BOS, the first query and the first key, from one call for all pieces or one call per piece."""

    together = len(found.answers) == 1
    first = 1 if together else 0

    def cut(answer: Attended) -> Attended:
        return answer._replace(weights=None if answer.weights is None else answer.weights[..., first:, 1:])

    return found._replace(answers=[cut(answer) for answer in found.answers[1 - first :]])
