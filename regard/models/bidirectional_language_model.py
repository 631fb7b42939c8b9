"""Two language models in one run, left to right and right to left: the pre-training of ELMo."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.attention import name_columns
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.data.columns import Columns
from regard.heads import HEADS
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.layers.language_model_layers import LanguageModelLayers
from regard.layers.recurrent import Cell
from regard.models.build import build_embedder, initialise_uniform
from regard.models.language_model import counted_pieces, need_no_source, prompt_ids
from regard.models.model import Generator
from regard.models.settings import HeadChoice, InitUniform, ModelDim, TiedText
from regard.records import PAD, TEXT, Batch, Decoded, Sequences, State, Step, select
from regard.registry import Choice


class BidirectionalState(NamedTuple):
    """The state of the model from the left between steps."""

    pasts: Any  # of its layers
    states: Tensor | None  # (rows, 1, dim) before the first step: of the prompt

    def select(self, rows: Tensor) -> "BidirectionalState":
        """Rows in that order."""
        return BidirectionalState(*select((self.pasts, self.states), rows))


class BidirectionalLanguageModel(Generator):
    """-1/2 (log p(x_i | pieces before it) + log p(x_i | pieces after it)) of each piece x_i.

    https://arxiv.org/abs/1802.05365, section 3.1: both directions share embeddings and head, not layers. Texts are
    generated left to right. Its part `encoder` is that of an encoder `language_model_features`.
    """

    def __init__(self, embedder: Embedder, reader: LanguageModelLayers, head: Head) -> None:
        super().__init__()
        need_no_source(head)
        self.embedder, self.head = embedder, head
        self.encoder = nn.ModuleDict({"reader": reader})  # the name of this part in the encoder of features
        name_columns(reader, TEXT)

    @property
    def reader(self) -> LanguageModelLayers:
        """Layers of both directions."""
        return cast(LanguageModelLayers, self.encoder["reader"])

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, n) in nats per piece, the mean of both directions; 0 where a piece is not counted."""
        text = batch.sequences(TEXT)
        targets = text.items.masked_fill(~counted_pieces(batch), PAD)
        states = self.reader.before(self._embedded(text))
        ahead, back = (self.head.nll(Decoded(one), None, targets, smoothing=smoothing) for one in states)
        return (ahead + back) / 2

    def counted(self, batch: Batch) -> Tensor:
        return counted_pieces(batch)

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, None]:
        return Decoded(self.reader.before(self._embedded(batch.sequences(TEXT)))[0]), None

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return [(self.embedder, batch.sequences(TEXT).items)]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        embedder = [self.embedder]
        return {"embedder": embedder, "source_embedder": embedder, "encoder": [self.encoder], "head": [self.head]}

    def longest(self, batch: Batch) -> int | None:
        return None

    def start(self, batch: Batch) -> BidirectionalState:
        """Read the pieces that are not counted: prompts, which must have one length."""
        ids = prompt_ids(batch)
        prompt = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
        (*_, states), pasts = self.reader.forwards.begin(*self._embedded(prompt))
        return BidirectionalState(pasts, states[:, -1:])

    def step(self, ids: Tensor, state: BidirectionalState, *, need_weights: bool = False) -> tuple[Step, State]:
        """ids (rows, 1) → log-probabilities (rows, vocab) of the next piece. The first step reads no more pieces."""
        decoded, after = self._read(ids, state)
        return Step(self.head.log_probs(decoded, None)[:, -1]), after

    def best(
        self,
        ids: Tensor,
        state: BidirectionalState,
        count: int,
        forbidden: Sequence[int] = (),
        included: Sequence[int] = (),
    ) -> tuple[Tensor, Tensor, State]:
        decoded, after = self._read(ids, state)
        return *self.head.best(decoded, None, count, forbidden, included), after

    def _read(self, ids: Tensor, state: BidirectionalState) -> tuple[Decoded, BidirectionalState]:
        if state.states is not None:
            return Decoded(state.states), BidirectionalState(state.pasts, None)
        (*_, states), pasts = self.reader.forwards(self.embedder(ids)[0], None, state.pasts)
        return Decoded(states), BidirectionalState(pasts, None)

    def _embedded(self, text: Sequences) -> Sequences:
        """ids (batch, n) → vectors (batch, n, dim)."""
        return Sequences(self.embedder(text.items)[0], text.mask)


def bidirectional_language_model(
    columns: Columns,
    *,
    dim: ModelDim = 256,
    cell: Cell = Choice("lstm"),
    num_layers: NumLayers = 2,
    head: HeadChoice = Choice("linear"),
    dropout: DropoutProbability = 0.1,
    tied: TiedText = "all",
    init_uniform: InitUniform = None,
) -> BidirectionalLanguageModel:
    """p(text) from the left and from the right: recurrent layers of width `dim` per direction, over word embeddings."""
    words = build_embedder(
        Choice("words"), None, len(columns[TEXT]), dim, dropout
    )  # a vector depends on its piece alone
    table = None if tied == "none" else words.output_weight()
    writes = HEADS.build(head, dim, len(columns[TEXT]), table)
    model = BidirectionalLanguageModel(words, LanguageModelLayers(dim, cell, num_layers, dropout), writes)
    return initialise_uniform(model, init_uniform)
