"""Interpolation with the nearest segments of a translation memory (SK-MT, https://arxiv.org/abs/2302.12188)."""

import copy
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.config import Doc
from regard.config.bounds import Positive, Size
from regard.data.packing import chunks
from regard.decoding.features.feature import Feature, Surroundings
from regard.decoding.features.tables import source_column, target_column
from regard.errors import ConfigError
from regard.memory import RelatedSegment, TranslationMemory
from regard.models import Generator
from regard.ops.kernels.packing import caches_of
from regard.ops.kernels.search import NearestStates
from regard.records import PAD, Batch, Step
from regard.results import MemoryMatch, SegmentEvidence
from regard.text.clean import clean
from regard.text.source_marks import given_text

_NAME = "nearest_segments"
_TIE = 1e-4  # distances that differ by rounding are equal: batch mates do not choose the nearest
_FARTHEST = 2.0  # relative squared distance of opposite states
_FORCED_TOKENS = 4096  # of segments that are forced at once
_CACHED_BYTES = 128 * 2**20  # of states that are kept
_LEAST_SHARE = 0.005  # of a piece's probability that is reported

_Pair = tuple[str, str]  # source and target of a segment


class ForcedSegment(NamedTuple):
    """Decoder states of a segment's translation by teacher forcing, and the piece that follows each."""

    states: Tensor  # (places, dim)
    pieces: Tensor  # (places,), the end among them


class SegmentStates(NamedTuple):
    """The datastore of each sentence: the states of its segments one behind the other."""

    keys: Tensor  # (sentences, places, dim), scaled by the relevance of their segments
    lengths: Tensor  # (sentences, places) the squared lengths of the states
    slots: Tensor  # (sentences, places) → the next piece, a place in `pieces`; -1: padding
    pieces: Tensor  # (sentences, distinct) next pieces, rising, PAD behind them
    owners: Tensor  # (sentences, places) → the segment, a place in `matches`
    matches: tuple[tuple[MemoryMatch, ...], ...]  # segments of each sentence
    rows: Tensor  # (rows,) the sentence of each row

    def select(self, rows: Tensor) -> "SegmentStates":
        """Rows in that order."""
        return self._replace(rows=self.rows[rows])


class NearestSegmentsFeature(Feature):
    """log((1 - w) p(piece) + w q(piece)) - log p(piece), q by the nearest decoder states of similar segments.

    The segments of a memory that are most relevant to the source are forced through the model. The current state s has
    the relative squared distance d = 1 - 2 c s·s' / (|s|² + |s'|²) to each of their states s'. c = 1 - mismatch · (1 -
    relevance of the segment), so that a state of a less relevant segment must be nearer. q gives the piece behind each
    of the `neighbours` nearest states a share exp(-d / temperature), and w = max_weight · max(0, 1 - min d / radius).
    The paper has one constant for both, absolute distances, and c = 1.
    """

    name = _NAME
    reads_tables = True

    def __init__(
        self,
        *,
        memory: Annotated[Path | None, Doc("Translation memory, as regard memory add writes it.")] = None,
        segments: Annotated[Size, Doc("Maximum number of segments for a sentence.")] = 16,
        threshold: Annotated[int, Ge(1), Le(100), Doc("Minimum relevance of a segment, in per cent.")] = 30,
        neighbours: Annotated[Size, Doc("Number of nearest states.")] = 8,
        temperature: Annotated[Positive, Doc("Temperature of the shares of states, by relative distance.")] = 0.005,
        radius: Annotated[
            float, Gt(0), Le(_FARTHEST), Doc("Relative squared distance from which a state has no weight.")
        ] = 0.5,
        mismatch: Annotated[
            float,
            Ge(0),
            Lt(1),
            Doc(
                "Reduction of the product with states of a segment of relevance 0; less for more relevant ones; 0: off."
            ),
        ] = 0.4,
        max_weight: Annotated[float, Gt(0), Lt(1), Doc("Weight of the segments at distance 0.")] = 0.9,
    ) -> None:
        self.memory, self.segments, self.threshold = memory, segments, threshold
        self.neighbours, self.temperature, self.radius, self.max_weight = neighbours, temperature, radius, max_weight
        self.mismatch = mismatch
        self._store: SegmentStore

    def bind(self, run: Surroundings) -> "NearestSegmentsFeature":
        """Open the memory. Raises ConfigError without one, and for a model that does not translate its languages."""
        setting = f"decoding.features.{_NAME}.memory"
        if self.memory is None:
            raise ConfigError(setting, "is not given", "a translation memory: regard memory add MEMORY FILE...")
        memory = TranslationMemory(self.memory)
        memory.check_languages(run.languages, setting)
        other = copy.copy(self)
        other._store = SegmentStore(memory, run)
        return other

    def start(self, batch: Batch) -> SegmentStates:
        """Force the segments of each sentence through the model."""
        return self._store.states(batch, self.threshold, self.segments, self.mismatch)

    def step(self, step: Step, ids: Tensor, state: SegmentStates) -> tuple[Tensor, SegmentStates]:
        if step.states is None:
            raise ConfigError("decoding.features", f"'{_NAME}' needs the states of one decoder", "leave it out")
        if not state.keys.shape[1]:
            return step.log_probs.new_zeros(1, 1), state
        weight, shares = self._weights(step.states, state)
        mass = shares.new_zeros(len(ids), state.pieces.shape[1])
        mass.scatter_add_(-1, state.slots[state.rows].clamp(min=0), weight * shares)
        pieces, rest = state.pieces[state.rows], torch.log1p(-weight)
        known = step.log_probs.gather(-1, pieces)
        joined = torch.logaddexp(known + rest, mass.log()) - known
        added = rest.expand(len(ids), step.log_probs.shape[-1]).clone()
        added.scatter_(-1, pieces, joined.where(known > float("-inf"), rest).to(added))
        return added.to(step.log_probs), state

    def compiled(self, state: SegmentStates) -> NearestStates:
        return NearestStates(
            state.keys.float().contiguous(), state.lengths.float().contiguous(), state.slots.contiguous(),
            state.pieces.contiguous(), self.neighbours, self.temperature, self.radius, self.max_weight, _TIE,
        )  # fmt: skip

    def evidence(self, batch: Batch) -> list[list[list[SegmentEvidence]]]:
        """Return the segments that speak for each piece of given targets (row, place), the strongest first."""
        state, target, model = self.start(batch), batch.sequences("target"), self._store.model
        if not state.keys.shape[1]:  # no text has a segment
            return [[[] for _ in range(count)] for count in target.mask.sum(dim=1).tolist()]
        states, found = model.decode(batch)[0].states, list[list[list[SegmentEvidence]]]()
        probabilities = torch.exp(-model.nll(batch))
        for row, known in enumerate(target.mask):
            pieces, matches = target.items[row][known], state.matches[row]
            weight, shares = self._weights(states[row][known], state.select(torch.full_like(pieces, row)))
            speaks = state.pieces[row].index_select(0, state.slots[row].clamp(min=0)) == pieces.unsqueeze(-1)
            given = weight * shares * speaks
            given = given / (given.sum(-1, keepdim=True) + (1 - weight) * probabilities[row][known].unsqueeze(-1))
            summed = given.new_zeros(len(pieces), len(matches)).index_add_(1, state.owners[row], given)
            found.append([_ranked(matches, each) for each in summed.tolist()])
        return found

    def _weights(self, states: Tensor, state: SegmentStates) -> tuple[Tensor, Tensor]:
        """states (rows, dim) → the weight of the segments (rows, 1), and the shares of places (rows, places)."""
        distances = _distances(states, state)
        near = distances.topk(min(self.neighbours, distances.shape[1]), largest=False).values
        nearest = near[:, :1].clamp(max=_FARTHEST)
        shares = torch.exp((nearest - distances) / self.temperature) * (distances <= near[:, -1:] + _TIE)
        weight = self.max_weight * (1 - nearest / self.radius).clamp(min=0)
        return weight, shares / shares.sum(dim=-1, keepdim=True).clamp(min=1e-30)


def _distances(states: Tensor, state: SegmentStates) -> Tensor:
    """states (rows, dim) → relative squared distances (rows, places) to those of the row's sentence; inf for padding.

    One product for each sentence: its rows are put side by side.
    """
    order = state.rows.argsort(stable=True)
    sentences, counts = state.rows[order].unique_consecutive(return_counts=True)
    numbers = torch.arange(len(sentences), device=order.device).repeat_interleave(counts)
    ranks = torch.arange(len(order), device=order.device) - (counts.cumsum(0) - counts)[numbers]
    together = states.new_zeros(len(sentences), int(counts.max()), states.shape[1])
    together[numbers, ranks] = states[order]
    keys = state.keys if len(sentences) == len(state.keys) else state.keys[sentences]
    products = states.new_empty(len(states), keys.shape[1])
    products[order] = torch.bmm(together, keys.to(states).transpose(1, 2))[numbers, ranks]
    lengths = states.square().sum(dim=-1, keepdim=True) + state.lengths.to(states)[state.rows]
    found = (1 - 2 * products / lengths.clamp(min=1e-30)).clamp(min=0)
    return found.masked_fill(state.slots[state.rows] < 0, float("inf"))


def _ranked(matches: Sequence[MemoryMatch], shares: Sequence[float]) -> list[SegmentEvidence]:
    found = [SegmentEvidence(one, share) for one, share in zip(matches, shares, strict=True) if share >= _LEAST_SHARE]
    return sorted(found, key=lambda one: -one.fraction)


class SegmentStore:
    """Decoder states of the segments of a memory; those of recent segments are kept. Threads may share it."""

    def __init__(self, memory: TranslationMemory, run: Surroundings) -> None:
        """Raise ConfigError for a model that does not translate word by word."""
        self.memory, self.source, self.target = memory, source_column(run), target_column(run)
        if not isinstance(run.model, Generator) or len(run.columns) > 2:
            problem = f"'{_NAME}' is for models that write the translation of one text word by word"
            raise ConfigError("decoding.features", problem, "leave it out")
        weights = (*run.model.parameters(), *run.model.buffers(), *caches_of(run.model))
        self.model = copy.deepcopy(run.model, {id(one): one for one in weights}).eval()  # hooks of others stay away
        self._lock, self._bytes = threading.Lock(), 0
        self._kept = OrderedDict[tuple[str, _Pair], ForcedSegment]()  # by route

    def states(self, batch: Batch, threshold: int, limit: int, mismatch: float) -> SegmentStates:
        """Return the datastore of each sentence of a batch."""
        device = batch.lines.device
        rows = [ids[known].tolist()[:-1] for ids, known in zip(*batch.sequences("source"), strict=True)]
        matches = [self._matches(given_text(self.source.decode(row)), threshold, limit) for row in rows]
        forced = self._forced({(one.match.source, one.match.target) for some in matches for one in some}, batch)
        lines = torch.arange(len(rows), device=device)
        if not forced:
            nothing, no_state = batch.lines.new_zeros(len(rows), 0), torch.zeros(len(rows), 0, 1, device=device)
            return SegmentStates(no_state, no_state[..., 0], nothing, nothing, nothing, ((),) * len(rows), lines)
        kept = [[one for one in some if (one.match.source, one.match.target) in forced] for some in matches]
        found = [[forced[one.match.source, one.match.target] for one in some] for some in kept]
        dim = next(iter(forced.values())).states.shape[1]
        no_states, no_pieces = torch.zeros(0, dim, device=device), batch.lines.new_zeros(0)
        keys = [torch.cat([no_states, *(one.states for one in some)]) for some in found]
        following = [torch.cat([no_pieces, *(one.pieces for one in some)]) for some in found]
        owners = [
            torch.cat([no_pieces, *(torch.full_like(one.pieces, place) for place, one in enumerate(some))])
            for some in found
        ]
        distinct, padded = [one.unique(return_inverse=True) for one in following], _padded(keys, 0)
        relevance = _padded([torch.tensor([one.relevance for one in some], device=device) for some in kept], 0)
        scales = 1 - mismatch * (1 - relevance.gather(1, _padded(owners, 0)))
        lengths = padded.square().sum(dim=-1)
        return SegmentStates(
            padded.mul_(scales.unsqueeze(-1)),
            lengths,
            _padded([slots for _, slots in distinct], -1),
            _padded([pieces for pieces, _ in distinct], PAD),
            _padded(owners, 0),
            tuple(tuple(one.match for one in some) for some in kept),
            lines,
        )

    def _matches(self, text: str, threshold: int, limit: int) -> list[RelatedSegment]:
        with self._lock:  # of the connection
            return self.memory.related(text, threshold=threshold, limit=limit) if text.strip() else []

    def _forced(self, pairs: AbstractSet[_Pair], batch: Batch) -> dict[_Pair, ForcedSegment]:
        """Return the states of segments along a batch's route; those that are too long for the model are left out."""
        found, missing = dict[_Pair, ForcedSegment](), list[_Pair]()
        with self._lock:
            for pair in sorted(pairs):
                if (known := self._kept.get((batch.route, pair))) is None:
                    missing.append(pair)
                else:
                    self._kept.move_to_end((batch.route, pair))
                    found[pair] = known
        for some, made in self._computed(missing, batch):
            found |= zip(some, made, strict=True)
            self._keep(batch.route, some, made)
        return found

    def _computed(self, pairs: Sequence[_Pair], batch: Batch) -> Iterator[tuple[list[_Pair], list[ForcedSegment]]]:
        """Force segments through the model, batch by batch."""
        sides = self.source, self.target
        texts = [[clean(pair[place]) for pair in pairs] for place in range(2)]
        ids = [*zip(*(side.encode_batch(some) for side, some in zip(sides, texts, strict=True)), strict=True)]
        most = self.model.max_source or math.inf, self.model.longest(batch) or math.inf
        fitting = [row for row, (read, written) in enumerate(ids) if len(read) < most[0] and len(written) < most[1]]
        for places in chunks([max(map(len, ids[row])) + 1 for row in fitting], _FORCED_TOKENS):
            some = [fitting[place] for place in places]
            columns = [side.collate([ids[row][place] for row in some]) for place, side in enumerate(sides)]
            named = dict(zip(("source", "target"), columns, strict=True))
            forced = Batch(named, batch.route, torch.arange(len(some)), 0).to(batch.lines.device)
            states, target = self.model.decode(forced)[0].states, forced.sequences("target")
            made = [
                ForcedSegment(states[row][known], target.items[row][known]) for row, known in enumerate(target.mask)
            ]
            yield [pairs[row] for row in some], made

    def _keep(self, route: str, pairs: Sequence[_Pair], made: Sequence[ForcedSegment]) -> None:
        """Keep states, and drop the least recently used."""
        with self._lock:
            for pair, one in zip(pairs, made, strict=True):
                before = self._kept.pop((route, pair), None)
                self._kept[route, pair] = one
                self._bytes += one.states.nbytes - (0 if before is None else before.states.nbytes)
            while self._bytes > _CACHED_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].states.nbytes


def _padded(rows: Sequence[Tensor], value: int) -> Tensor:
    return pad_sequence([*rows], batch_first=True, padding_value=value) if rows else torch.zeros(0, 0)
