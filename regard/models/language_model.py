"""Language models: a decoder without a source."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import name_columns
from regard.data.columns import Columns
from regard.decoders import DECODERS
from regard.decoders.decoder import Decoder
from regard.errors import PartError
from regard.heads import HEADS
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_embedder, build_sockets, initialise_uniform
from regard.models.model import Distributions, Generator, Model
from regard.models.settings import HEADS_OF_FOUR, LanguageModelSettings
from regard.models.translator import shifted
from regard.ops.kernels.search import CompiledWriter
from regard.records import BOS, PAD, TEXT, Batch, Decoded, Sequences, State, Step, select

COUNTED = "counted"  # column: mask (batch, n) of the pieces that the loss counts; all without it


class Continuing(NamedTuple):
    """A language model's state between steps."""

    decoder: Any
    last: Tensor | None  # (rows, 1) before the first step: the last piece of the prompt

    def select(self, rows: Tensor) -> "Continuing":
        """Rows in that order."""
        return Continuing(self.decoder.select(rows), select(self.last, rows))


class DecoderOnly(Model):
    """A model whose decoder reads one text from left to right, after BOS, without a source."""

    decoder: Decoder
    head: Head

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        embedder = [self.decoder.embedder]
        return {"embedder": embedder, "target_embedder": embedder, "decoder": [self.decoder], "head": [self.head]}

    @property
    def max_source(self) -> int | None:
        """Maximum ids of a text or a prompt, EOS included: one place is reserved for BOS, or for the continuation."""
        most = self.decoder.embedder.max_length
        return None if most is None else most - 1


class LanguageModel(DecoderOnly, Generator):
    """p(text) = product over its pieces of p(piece | pieces before it); pieces that are not counted are read only."""

    def __init__(self, decoder: Decoder, head: Head) -> None:
        super().__init__()
        need_no_source(head)
        self.decoder, self.head = decoder, head
        name_columns(decoder, TEXT)

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, None]:
        items, mask = batch.sequences(TEXT)
        read = Sequences(shifted(items), mask)
        return self.decoder.forced(read, self._start(batch), need_weights=need_weights), None

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return [(self.decoder.embedder, shifted(batch.sequences(TEXT).items))]

    def counted(self, batch: Batch) -> Tensor:
        return counted_pieces(batch)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        targets = batch.sequences(TEXT).items.masked_fill(~counted_pieces(batch), PAD)
        losses: Tensor = self.head.nll(self.decode(batch)[0], None, targets, smoothing=smoothing)
        return losses

    def distributions(self, batch: Batch) -> Distributions:
        keep = counted_pieces(batch)
        scores: Tensor = self.head.scores(self.decode(batch)[0], None, keep)
        return Distributions(scores, batch.sequences(TEXT).items[keep])

    def longest(self, batch: Batch) -> int | None:
        """Return the most ids after the prompts: one place is reserved for BOS."""
        most, lengths = self.decoder.embedder.max_length, prompts(batch).sum(dim=-1)
        return None if most is None else most - 1 - (int(lengths.max()) if len(lengths) else 0)

    def start(self, batch: Batch) -> Continuing:
        """Read the pieces that are not counted: prompts, which must have one length. Without any it reads BOS."""
        ids = prompt_ids(batch)
        read = torch.cat([ids.new_full((len(ids), 1), BOS), ids], dim=1)
        state = self._start(batch)
        if ids.shape[1]:
            _, state = self.decoder(read[:, :-1], state)
        return Continuing(state, read[:, -1:])

    def step(self, ids: Tensor, state: Continuing, *, need_weights: bool = False) -> tuple[Step, State]:
        """ids (rows, 1) → log-probabilities (rows, vocab) of the next piece. The first step reads the prompt's end."""
        decoded, after = self._read(ids, state)
        return Step(self.head.log_probs(decoded, None)[:, -1]), after

    def best(
        self, ids: Tensor, state: Continuing, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        decoded, after = self._read(ids, state)
        return *self.head.best(decoded, None, count, forbidden, included), after

    def compiled_writer(self, ids: Tensor, state: Continuing, steps: int) -> CompiledWriter | None:
        """Return the decoder and the head, where both are fully compiled."""
        table, first = self.head.packed(), ids if state.last is None else state.last
        return None if table is None else self.decoder.compiled_writer(first, state.decoder, table, steps)

    def _read(self, ids: Tensor, state: Continuing) -> tuple[Decoded, Continuing]:
        decoded, after = self.decoder(ids if state.last is None else state.last, state.decoder)
        return decoded, Continuing(after, None)

    def _start(self, batch: Batch) -> Any:
        return self.decoder.start(rows=torch.arange(len(batch.lines), device=batch.lines.device))


def language_model(columns: Columns, *, shared: LanguageModelSettings) -> LanguageModel:
    """p(text): a decoder without a source, so without encoder and source attention."""
    decodes, head = build_writing(shared, len(columns[TEXT]))
    return initialise_uniform(LanguageModel(decodes, head), shared.init_uniform)


def build_writing(shared: LanguageModelSettings, size: int) -> tuple[Decoder, Head]:
    """Build a decoder of `size` different ids without a source, and its head."""
    sockets = build_sockets(HEADS_OF_FOUR, shared.self_attention)
    reads = build_embedder(shared.embedder, shared.position, size, shared.dim, shared.dropout)
    writes = DECODERS.build(shared.decoder, reads, None, sockets, given={"dropout": shared.dropout})
    table = None if shared.tied == "none" else reads.output_weight()
    return writes, HEADS.build(shared.head, writes.dim, size, table)


def need_no_source(head: Head) -> None:
    """Raise PartError for a head that copies words of a source."""
    if head.reads_source or head.needs_weights:
        problem = "copies from a source, and a language model has none"
        raise PartError(problem, "try 'linear'", setting="head")


def counted_pieces(batch: Batch) -> Tensor:
    """Return the mask (batch, n) of the pieces that the loss counts."""
    mask = batch.sequences(TEXT).mask
    chosen: Any = batch.columns.get(COUNTED, mask)
    return mask & chosen


def prompts(batch: Batch) -> Tensor:
    """Return the mask (batch, n) of the given pieces."""
    return batch.sequences(TEXT).mask & ~counted_pieces(batch)


def prompt_ids(batch: Batch) -> Tensor:
    """Return ids (batch, length) of prompts of one length. Raises ValueError for others."""
    given = prompts(batch)
    length = int(given.sum(dim=-1).max()) if len(given) else 0
    if not bool(given[:, :length].all()):
        raise ValueError("prompts of different lengths cannot be read together")
    return batch.sequences(TEXT).items[:, :length]
