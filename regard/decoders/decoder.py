"""The contract of decoders."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from regard.layers.embedders.embedder import Embedder
from regard.layers.shared_source import SharedSource
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.vocabulary import PackedTable
from regard.records import Decoded, Encoded, Sequences, select


class DecoderState(NamedTuple):
    """State of a decoder for the rows being written."""

    layers: Any  # nested tuples, as the decoder's own layers want them
    source: SharedSource = SharedSource()
    words: Any = None  # past of the embedder

    def select(self, rows: Tensor) -> "DecoderState":
        """Rows in that order."""
        layers, words = select((self.layers, self.words), rows)
        return DecoderState(layers, self.source.select(rows), words)


class Decoder(nn.Module, ABC):
    """Writes a sequence, with attention over encoder states. Built with (embedder, source_dim, sockets).

    It owns the embedder of what it writes. `dim` is the width of its states. With source_dim None it attends to nothing
    but what it wrote, as a language model does: it then has no part that reads a source, and `start` is given none.
    """

    dim: int
    embedder: Embedder
    of_source: ClassVar[tuple[str, ...]] = ()  # settings that change nothing without a source
    masked = False  # True: its layers read other rows, so in training they must know what is padding

    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> DecoderState:
        """A state with one row per source sentence, or with `rows` (long) naming the sentence of each row.

        Rows of one sentence stand together. Without a source the length of `rows` is the number of rows. The
        source's keys are computed here, once per sentence.
        """
        if not encoded:
            return self.begin(None, 0 if rows is None else len(rows))
        (seen,) = encoded
        state = self.begin(seen, seen.states.shape[0])
        return state if rows is None else state.select(rows)

    def forward(
        self, ids: Tensor, state: DecoderState, *, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Decoded, DecoderState]:
        """ids (rows, n), each the one before what is to be written → states (rows, n, dim) and the state after.

        Any split of the ids into chunks gives the same. The state given is spent. `mask` (rows, n): True = no padding;
        None: nothing is.
        """
        vectors, words = self.embedder(ids, state.words)
        source = state.source if ids.shape[-1] == 1 else state.source.unfolded()
        return self.advance(vectors, mask, state._replace(words=words, source=source), need_weights)

    def forced(self, read: Sequences, state: DecoderState, *, need_weights: bool = False) -> Decoded:
        """Teacher forcing: all that is read at once."""
        mask = read.mask if self.masked and self.training else None
        decoded: Decoded = self(read.items, state, mask=mask, need_weights=need_weights)[0]
        return decoded

    def compiled_writer(
        self, ids: Tensor, state: DecoderState, table: PackedTable, steps: int
    ) -> CompiledWriter | None:
        """Return what reads ids (rows, 1) and writes up to `steps` words in compiled code; None where modules must.

        The state stays as it is. `table` is that of the head.
        """
        return None

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        """Return modules of its own that another run can start, by the names of parts; most decoders are one part."""
        return {}

    @abstractmethod
    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        """The state before the first word: a row per source sentence, or `rows` rows without a source."""

    @abstractmethod
    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        """vectors (rows, n, dim) of the words read → states (rows, n, dim) and the state after.

        The source is folded only where n = 1. Weights (rows, n, source) are there if asked for.
        """
