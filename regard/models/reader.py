"""Extractive readers: an encoder reads a passage with a question, and a head points at the answer's span."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Records, name_columns
from regard.config import Doc, PartOf, SharedSettings
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.data.columns import Columns
from regard.encoders import ENCODERS, EncoderChoice
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.heads.reading import SPAN_HEADS
from regard.heads.reading.span_head import TINY, Places, SpanHead
from regard.layers.embedders.embedder import Embedder
from regard.layers.pooling import POOLINGS, Pooling
from regard.models.build import build_embedder, build_sockets
from regard.models.fusions import FUSIONS
from regard.models.fusions.fusion import Fusion
from regard.models.settings import (
    PROJECTED_HEADS,
    AttentionChoice,
    AttentionSettings,
    EmbedderChoice,
    SelfAttention,
    WordPosition,
)
from regard.models.text_reader import TextReader, need_one_each
from regard.records import ANSWER, EOS, PAD, PASSAGE, QUESTION, Batch, Sequences
from regard.registry import Choice

RELU_DOT = AttentionSettings(score=Choice("relu_dot"))


class PlaceWindows(NamedTuple):
    """The size of windows, and the distance of their starts; neither is in any unit but places."""

    size: int
    stride: int


def in_windows(read: Callable[[Sequences], Tensor], whole: Sequences, windows: PlaceWindows) -> Tensor:
    """Vectors (batch, n, dim) → states (batch, n, out_dim), `read` window by window, as the code of BERT strides.

    A row of at most `size` places is one window. A longer one has windows from 0, stride, 2 · stride … on, the last of
    which ends with the row. The state of a place is that of the window in which the smaller of its distances to both
    ends is the largest; of equal ones the first. So a row does not depend on the others of its batch.
    """
    size, stride = windows
    n = whole.mask.shape[1]
    if n <= size:
        return read(whole)
    lengths = whole.mask.sum(dim=1, keepdim=True)  # (batch, 1)
    starts = torch.arange(0, n - size + stride, stride, device=lengths.device)  # (window,)
    present = starts < (lengths - size + stride).clamp(min=1)  # (batch, window)
    places = starts.unsqueeze(1) + torch.arange(size, device=starts.device)  # (window, size)
    inside = places.clamp(max=n - 1)
    rows, numbers = present.nonzero(as_tuple=True)
    mask = whole.mask[rows.unsqueeze(1), inside[numbers]] & (places < n)[numbers]
    states = read(Sequences(whole.items[rows.unsqueeze(1), inside[numbers]], mask))
    best = _widest(starts, present, lengths, n, size)  # (batch, n)
    index = present.flatten().cumsum(0).view_as(present) - 1  # of each window among those that were read
    shift = torch.arange(n, device=starts.device) - starts[best]
    found: Tensor = states[index.gather(1, best), shift.clamp(0, size - 1)]
    return found.masked_fill(~whole.mask.unsqueeze(-1), 0.0)


def _widest(starts: Tensor, present: Tensor, lengths: Tensor, n: int, size: int) -> Tensor:
    """Return the window (batch, n) of each place with the most context on its poorer side."""
    place = torch.arange(n, device=starts.device)
    ends = torch.minimum(starts + size, lengths)  # (batch, window)
    left = place - starts.unsqueeze(1)  # (window, n)
    right = ends.unsqueeze(-1) - 1 - place  # (batch, window, n)
    context = torch.minimum(left, right).masked_fill(~present.unsqueeze(-1), -n)
    return context.argmax(dim=1)


class SpanReader(TextReader):
    """p(answer | passage, question) = sum of p(place) over all occurrences of the answer's pieces in the passage.

    The question is pooled into one vector, q = pooling(question_encoder(question)); the passage is read as
    encoder(fusion(passage, question, q)), and the head attends to its states with q. The encoder reads a passage in
    windows, if longer than one; the head compares all places of the passage, whichever window they were read in, as the
    shared normalisation of https://arxiv.org/abs/1710.10723 has it.
    """

    texts, side = (PASSAGE, QUESTION), None
    part_names = "question_encoder", "pooling", "fusion", "encoder", "head"

    def __init__(
        self,
        embedder: Embedder,
        question_encoder: Encoder,
        pooling: Pooling,
        fusion: Fusion,
        encoder: Encoder,
        head: SpanHead,
        windows: PlaceWindows | None = None,
    ) -> None:
        super().__init__()
        self.windows = windows
        self.embedder, self.question_encoder, self.pooling = embedder, question_encoder, pooling
        self.fusion, self.encoder, self.head = fusion, encoder, head
        name_columns(nn.ModuleList([question_encoder, pooling]), QUESTION)
        name_columns(nn.ModuleList([fusion, encoder, head]), PASSAGE, QUESTION)

    def places(self, batch: Batch) -> Places:
        """Return log-probabilities (batch, n) of each place of the passage as the answer's start, and as its end.

        Raises ConfigError where the encoder does not return one state per piece.
        """
        passage, question = batch.sequences(PASSAGE), batch.sequences(QUESTION)
        words, asked = (Sequences(self.embedder(one.items)[0], one.mask) for one in (passage, question))
        read = self.question_encoder(asked)
        vector = self.pooling(read.states, read.mask)
        states = self._read(Sequences(self.fusion(words, asked, vector), passage.mask))
        found: Places = self.head(states, passage.mask & (passage.items != EOS), vector)
        return found

    def without_windowed(self, batch: Batch, records: Records) -> Records:
        """Leave out attentions of the encoder where it read a passage of the batch in several windows."""
        if self.windows is None or batch.sequences(PASSAGE).mask.shape[1] <= self.windows.size:
            return records
        return {name: one for name, one in records.items() if not name.startswith("encoder.")}

    def _read(self, passage: Sequences) -> Tensor:
        """Vectors (batch, n, dim) → states (batch, n, dim)."""

        def read(some: Sequences) -> Tensor:
            return need_one_each(self.encoder(some).states, some)

        return read(passage) if self.windows is None else in_windows(read, passage, self.windows)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, piece of the answer) in nats: the whole loss of an answer at its first piece.

        An answer longer than `max_pieces`, which the head never gives, costs as much as one without a place. Label
        `smoothing` is the mean over all places with as many pieces.
        """
        passage, answer = batch.sequences(PASSAGE), batch.sequences(ANSWER)
        lengths = (answer.mask & (answer.items != EOS)).sum(dim=1)
        places = self.places(batch)
        stands = occurrences(passage, answer) & (lengths <= self.head.max_pieces).unsqueeze(-1)
        ends = torch.arange(stands.shape[1], device=lengths.device) + (lengths - 1).clamp(min=0).unsqueeze(-1)
        fits = ends < (passage.mask & (passage.items != EOS)).sum(dim=1, keepdim=True)
        both = places.first + places.last.gather(1, ends.clamp(max=stands.shape[1] - 1))
        total = both.masked_fill(~stands, -torch.inf).exp().sum(dim=1)
        smooth = both.masked_fill(~fits, 0.0).sum(dim=1) / fits.sum(dim=1).clamp(min=1)
        losses = -(1 - smoothing) * total.clamp(min=TINY).log() - smoothing * smooth
        first = torch.arange(answer.mask.shape[1], device=losses.device) == 0
        return losses.unsqueeze(-1) * first

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences(ANSWER).mask


def occurrences(passage: Sequences, answer: Sequences) -> Tensor:
    """Return the mask (batch, n) of the starts of an answer, given ids (batch, n) and (batch, m), each with EOS."""
    given = answer.mask & (answer.items != EOS)
    found = passage.mask & given.any(dim=1, keepdim=True)
    ids = torch.cat([passage.items, passage.items.new_full(answer.items.shape, PAD)], dim=1)
    for place in range(given.shape[1]):
        piece, there = (one[:, place : place + 1] for one in (answer.items, given))
        found = found & ((ids[:, place : place + found.shape[1]] == piece) | ~there)
    return found


@dataclass(frozen=True)
class PassageSettings(SharedSettings):
    """Settings of the reading of passages."""

    dim: Annotated[Size, Doc("Width of the embeddings.")] = 128
    embedder: EmbedderChoice = Choice("words")
    position: WordPosition = None
    encoder: Annotated[EncoderChoice, Doc("Encoder of the passage, given the question.")] = Choice("recurrent")
    dropout: DropoutProbability = 0.1
    window: Annotated[
        Size | None, Doc("Pieces of a passage that its encoder reads at once, in overlapping windows; null: all.")
    ] = None
    stride: Annotated[Size, Doc("Pieces from the start of a window to that of the next.")] = 128

    def windows(self) -> PlaceWindows | None:
        """Return the windows, if any. Raises PartError for a stride that leaves pieces out."""
        if self.window is not None and self.stride > self.window:
            problem = f"is {self.stride}, so that windows of {self.window} leave pieces out"
            raise PartError(problem, f"{self.window} or less", setting="stride")
        return None if self.window is None else PlaceWindows(self.window, self.stride)


def reader(
    columns: Columns,
    *,
    shared: PassageSettings,
    question_encoder: Annotated[EncoderChoice, Doc("Encoder of the question.")] = Choice("recurrent"),
    pooling: Annotated[
        Choice,
        PartOf(POOLINGS),
        Doc("Pooling of the question into one vector; attention: self-attention."),
    ] = Choice("last"),
    fusion: Annotated[Choice, PartOf(FUSIONS), Doc("Fusion of the question into the passage's words.")] = Choice(
        "aligned"
    ),
    attention: Annotated[AttentionChoice, Doc("Attention of the passage over the question.")] = RELU_DOT,
    self_attention: SelfAttention = PROJECTED_HEADS,
    head: Annotated[Choice, PartOf(SPAN_HEADS), Doc("Output layer that selects the answer span.")] = Choice("pointers"),
) -> SpanReader:
    """p(answer | passage, question): an encoder with a fusion of the question, and a head that points at the answer.

    Raises ConfigError where the texts have vocabularies of their own.
    """
    if not columns[PASSAGE] is columns[QUESTION] is columns[ANSWER]:
        raise PartError("searches the passage for the answer, but text.shared is false", "text.shared=true")
    sockets, given = build_sockets(attention, self_attention), {"dropout": shared.dropout}
    reads = build_embedder(shared.embedder, shared.position, len(columns[PASSAGE]), shared.dim, shared.dropout)
    asks = ENCODERS.build(question_encoder, reads.dim, sockets, given=given, place="question_encoder")
    pools = POOLINGS.build(pooling, asks.dim)
    fuses = FUSIONS.build(fusion, reads.dim, pools.out_dim, sockets)
    encodes = ENCODERS.build(shared.encoder, fuses.dim, sockets, given=given)
    points = SPAN_HEADS.build(head, encodes.dim, pools.out_dim)
    return SpanReader(reads, asks, pools, fuses, encodes, points, shared.windows())
