"""The compiled network and its search: ids in, ids out."""

import ctypes
import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SHAPE = (  # Shape of engine.cpp
    "dim", "pre", "activation", "encoder_layers", "decoder_layers", "encoder_heads", "own_heads", "cross_heads",
    "zero_begin", "aligned_layer", "padding", "begin", "end", "unknown",
)  # fmt: skip
REALS = ("source_scale", "target_scale", "slope", "epsilon")  # Real of engine.cpp
STOPS = ("full", "exact", "best_full")  # Stop of search.h
LIMITS = ("end", "free", "cut")  # AtLimit of search.h

_LONG, _POINTER = ctypes.c_int64, ctypes.c_void_p


class EngineFault(ValueError):
    """Raised for a network that is not one, and for ids that are not of it."""


class TensorPlace(NamedTuple):
    """A tensor in memory; address 0: the network has none there."""

    address: int
    rows: int
    columns: int
    wide: int  # bytes of a number: 4, or 1 of a weight in 8 bits


class SearchRules(NamedTuple):
    """Settings of a beam search, as `regard.decoding.beam.BeamSearch` has them; a beam of 1 is greedy."""

    size: int
    length_penalty: float
    gnmt: bool
    stop: str
    min_length: int
    at_limit: str
    max_ratio: float
    max_extra: int

    def norm(self, length: int) -> float:
        """Return the divisor of a score, for a length with the end."""
        return float(((5.0 + length) / 6.0 if self.gnmt else float(length)) ** self.length_penalty)

    def limit(self, size: int, most: int) -> int:
        """Return the most ids of a translation with its end, for a source of this size; `most` of any source."""
        single = ctypes.c_float  # torch multiplies lengths in float32
        return max(1, min(int(single(size * single(self.max_ratio).value).value) + self.max_extra, most))


class EngineHypothesis(NamedTuple):
    """A target."""

    ids: list[int]  # without the end
    score: float
    log_probs: list[float]  # of each id, and of the end if it has one
    finished: bool  # False: cut off at the limit


class Engine:
    """A network in compiled code. Threads may share it."""

    def __init__(
        self,
        library: ctypes.CDLL,
        shape: Mapping[str, int],
        reals: Mapping[str, float],
        tensors: Sequence[TensorPlace],
        end: int,
        memory: object,
    ) -> None:
        """`tensors` in the order of engine.cpp, in `memory`: the map of a file, which is kept as long as the engine.

        Raises EngineFault where they fit no network.
        """
        self._end, self._memory, fault = end, memory, ctypes.c_char_p()
        flat = [number for one in tensors for number in one]
        numbers = (ctypes.c_double * len(REALS))(*(reals[name] for name in REALS))
        open_engine = library["open_engine"]
        open_engine.argtypes, open_engine.restype = [*[_POINTER] * 3, _LONG, _POINTER], _POINTER
        self._engine = open_engine(
            _longs([shape[name] for name in SHAPE]), numbers, _longs(flat), len(tensors), ctypes.byref(fault)
        )
        _check(fault)
        close = library["close_engine"]
        close.argtypes, close.restype = [_POINTER], None
        weakref.finalize(self, close, self._engine)
        self._search = library["translate"]
        self._search.argtypes, self._search.restype = [
            *(_POINTER, _LONG, _POINTER, _POINTER), *[_LONG] * 5, *(_POINTER, _POINTER), _LONG, _POINTER, _POINTER
        ], _POINTER  # fmt: skip
        self._force, self._sizes, self._take = (library[name] for name in ("force", "sizes", "take"))
        self._force.argtypes, self._force.restype = [_POINTER, _LONG, _POINTER, _LONG, *[_POINTER] * 4], _LONG
        self._sizes.argtypes, self._sizes.restype = [_POINTER, _POINTER], _LONG
        self._take.argtypes, self._take.restype = [_POINTER, _LONG, *[_POINTER] * 5], None

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        rules: SearchRules,
        limits: Sequence[int],
        n_best: int = 1,
        first: Sequence[int] = (),
    ) -> list[list[EngineHypothesis]]:
        """Return the hypotheses of each source (ids with their end), the best first. Raises EngineFault.

        Each begins with the ids of `first`, which add nothing to its score.
        """
        if n_best < 1:
            raise EngineFault(f"{n_best} translations are asked for; at least 1 is possible")
        starts, longest, fault = _starts(sources), max(limits), ctypes.c_char_p()
        norms = _norms(rules, longest)
        given = rules.size, n_best, STOPS.index(rules.stop), rules.min_length, LIMITS.index(rules.at_limit)
        ids = _longs([one for source in sources for one in source])
        begun = len(first), _longs(first), ctypes.byref(fault)
        found = self._search(self._engine, len(sources), starts, ids, *given, _longs(limits), norms, *begun)
        _check(fault)
        return self._taken(found, len(sources))

    def force(self, source: Sequence[int], target: Sequence[int]) -> tuple[list[float], list[list[float]]]:
        """Return log-probabilities of a target (ids without the end) and its end, and their weights over the source.

        Raises EngineFault.
        """
        rows, places, fault = len(target) + 1, len(source), ctypes.c_char_p()
        log_probs, weights = (ctypes.c_float * rows)(), (ctypes.c_float * (rows * places))()
        self._force(
            self._engine, places, _longs(source), len(target), _longs(target), log_probs, weights, ctypes.byref(fault)
        )
        _check(fault)
        return [*log_probs], [weights[place : place + places] for place in range(0, rows * places, places)]

    def _taken(self, found: int, texts: int) -> list[list[EngineHypothesis]]:
        counts = (_LONG * texts)()
        total = self._sizes(found, counts)
        many = sum(counts)
        lengths, scores, finished = (_LONG * many)(), (ctypes.c_double * many)(), (ctypes.c_uint8 * many)()
        ids, log_probs = (_LONG * total)(), (ctypes.c_double * total)()
        self._take(found, self._end, lengths, scores, finished, ids, log_probs)
        made, start = list[EngineHypothesis](), 0
        for length, score, ended in zip(lengths, scores, finished, strict=True):
            written = ids[start : start + length]
            if written and written[-1] == self._end:
                written.pop()
            made.append(EngineHypothesis(written, score, log_probs[start : start + length], bool(ended)))
            start += length
        each = iter(made)
        return [[next(each) for _ in range(count)] for count in counts]


@functools.lru_cache
def _norms(rules: SearchRules, longest: int) -> Any:
    return (ctypes.c_double * (longest + 2))(1.0, *(rules.norm(one) for one in range(1, longest + 2)))


def _longs(numbers: Sequence[int]) -> Any:
    return (_LONG * len(numbers))(*numbers)


def _starts(rows: Sequence[Sequence[int]]) -> Any:
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    return _longs(starts)


def _check(fault: ctypes.c_char_p) -> None:
    if fault.value is not None:
        raise EngineFault(fault.value.decode())
