"""Beam search over a Transformer's decoder in one call of compiled code."""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.ops.kernels.packing import ProductStruct
from regard.ops.kernels.transformer import MIRRORS as TRANSFORMER
from regard.ops.kernels.transformer import PackedStack, PastStruct, StackStruct, StepMemory
from regard.ops.kernels.vocabulary import MOST_WORDS, PackedTable
from regard.pieces import BOS, EOS, PAD, SPECIALS, UNK
from regard.runtime.compiled import library

_SOURCE = Path(__file__).with_name("search.cpp")

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_STEPPED = ctypes.CFUNCTYPE(None)


class _Shortlist(ctypes.Structure):
    _fields_ = (("head", ProductStruct), ("words", _POINTER))


class _Writer(ctypes.Structure):
    _fields_ = (
        ("stack", ctypes.POINTER(StackStruct)),
        ("head", ctypes.POINTER(ProductStruct)),
        ("shortlists", ctypes.POINTER(_Shortlist)),
        ("table", _POINTER),
        ("places", _POINTER),
        ("scale", ctypes.c_double),
        *((name, _LONG) for name in ("padding", "begin", "end", "unknown", "zero_begin")),
        ("eight", _POINTER),
        ("scales", _POINTER),
    )


class _Start(ctypes.Structure):
    _fields_ = (("texts", _LONG), ("last", _POINTER), ("past", ctypes.POINTER(PastStruct)))


class _Rules(ctypes.Structure):
    _fields_ = (
        *((name, _LONG) for name in ("size", "wanted", "stop", "least", "at_limit")),
        *((name, _POINTER) for name in ("limits", "norms")),
        ("stepped", _STEPPED),
        ("dropped", _POINTER),
    )


class _Required(ctypes.Structure):
    _fields_ = (
        *((name, _LONG) for name in ("enough", "free", "terms", "symbols", "tried_count", "longest")),
        *((name, _POINTER) for name in ("needed", "sizes", "totals", "symbols_of", "next", "left", "open", "whole")),
        *((name, _POINTER) for name in ("parts_words", "nodes", "met", "tried", "prefixes", "banks", "widths")),
    )


class _Nearest(ctypes.Structure):
    _fields_ = (
        *((name, _LONG) for name in ("places", "distinct", "neighbours")),
        *((name, ctypes.c_double) for name in ("temperature", "radius", "weight", "tie")),
        *((name, _POINTER) for name in ("keys", "lengths", "slots", "words")),
    )


_MIRRORS = (*TRANSFORMER, _Shortlist, _Writer, _Start, _Rules, _Required, _Nearest)


class WordSum(NamedTuple):
    """Vectors that are table[id] · scale + places[step]; places[step] alone of BOS with `zero_begin`."""

    table: Tensor  # (vocab, dim)
    scale: float
    places: Tensor | None  # (steps, dim), of the places from the next one on
    zero_begin: bool = False


BEAM_STOPS = ("full", "exact", "best_full")  # rules by which a beam search stops
BEAM_LIMITS = ("end", "free", "cut")  # endings at the most ids


class Rules(NamedTuple):
    """Arguments of a beam search, see `regard.decoding.beam.BeamSearch`."""

    size: int
    n_best: int
    stop: int  # a place in BEAM_STOPS
    min_length: int
    limits: NDArray[np.int64]  # (texts,) most ids
    norms: NDArray[np.float64]  # by length from 0 to one more than the largest limit: what a sum is divided by
    at_limit: int = 0  # a place in BEAM_LIMITS


class Required(NamedTuple):
    """Required phrases of targets, and how they divide each beam: see `regard.decoding.phrases.PhraseTracker`."""

    enough: int  # likely ones that may end a search if nothing unfinished that has all is better so far; 0: never
    free: int  # ids of prefixes that cost nothing
    needed: NDArray[np.int64]  # (texts, terms) how often
    sizes: NDArray[np.int64]  # (texts, terms) ids of each
    totals: NDArray[np.int64]  # (texts,) ids of all
    symbols: NDArray[np.int64]  # (texts, symbols) ids that terms are made of, -1: none
    next: NDArray[np.int64]  # (nodes, symbols + 1) of the automata
    left: NDArray[np.int64]  # (nodes, terms) ids to write yet of a term
    open: NDArray[np.int64]  # (nodes, terms) whether it is written
    whole: NDArray[np.int64]  # (nodes, terms) whether it is written if a new word begins
    parts_words: NDArray[np.bool_]  # (vocab,) whether one does
    nodes: NDArray[np.int64]  # (texts,) at the beginning
    met: NDArray[np.int64]  # (texts, terms) at the beginning
    tried: NDArray[np.int64]  # (texts, some) ids that are tried however unlikely they are, rising, -1: none
    prefixes: NDArray[np.int64]  # (texts, longest) -1: none
    banks: NDArray[np.int64]  # (texts,) parts of a beam
    widths: NDArray[np.int64]  # (texts,) hypotheses of all of them


class NearestStates(NamedTuple):
    """Stored decoder states of each text, and how they join the distribution of a row. Tensors are contiguous.

    See `regard.decoding.features.nearest_segments.NearestSegmentsFeature`.
    """

    keys: Tensor  # (texts, places, dim) float32
    lengths: Tensor  # (texts, places) float32, squared
    slots: Tensor  # (texts, places) → the next word, a place in `words`; -1: padding, which stands last
    words: Tensor  # (texts, distinct) rising, PAD behind them
    neighbours: int
    temperature: float  # of the shares of states
    radius: float  # distance from which the weight is 0
    weight: float  # at distance 0
    tie: float  # distances that differ by less are equal


class CompiledHypothesis(NamedTuple):
    """A hypothesis."""

    ids: list[int]
    score: float
    log_probs: list[float]
    finished: bool


class CompiledWriter(NamedTuple):
    """A decoder that has read what is given of each row, its embedder and its head."""

    ids: Tensor  # (rows, 1) that each row reads first
    stack: PackedStack
    memory: StepMemory
    slots: Tensor  # (rows, time) int32, as of `PackedStack.step`
    texts: Tensor  # (rows,) int32
    words: WordSum
    table: PackedTable
    shortlists: Sequence[Tensor] | None = (
        None  # of each row the ids that it may write, rising; all of SPECIALS among them
    )

    def beam(
        self,
        rules: Rules,
        unwanted: Callable[[], NDArray[np.bool_]] | None = None,
        required: Required | None = None,
        nearest: NearestStates | None = None,
    ) -> list[list[CompiledHypothesis]] | None:
        """Return the hypotheses of each row that have what is required, if anything is, the best first.

        None without a compiler, for a beam that is too wide for `PackedTable.best`, and for requirements or stored
        states beside shortlists. `unwanted` is called after every step, and returns the mask (rows,) of the rows to
        drop. Raises MemoryError, and what `unwanted` raises.
        """
        width = rules.size if required is None else int(required.widths.max(initial=0))
        alone = required is None and nearest is None
        fits = (alone or self.shortlists is None) and self._fits(width)
        kernel = library(_SOURCE, _MIRRORS) if fits else None
        if kernel is None:
            return None
        return self._found(kernel, rules, unwanted, required, nearest) if len(self.ids) else []

    def _fits(self, width: int) -> bool:
        """Return whether a step can rank one word more than the beam size."""
        words = (
            min(map(len, self.shortlists), default=MOST_WORDS) if self.shortlists else self.table.product.struct.outputs
        )
        return width < min(MOST_WORDS, words - len(SPECIALS))

    def _found(
        self,
        kernel: ctypes.CDLL,
        rules: Rules,
        unwanted: Callable[[], NDArray[np.bool_]] | None,
        required: Required | None,
        nearest: NearestStates | None,
    ) -> list[list[CompiledHypothesis]]:
        """Hypotheses of a search in compiled code."""
        tables = [(self.table.narrowed(some), some) for some in self.shortlists or ()]
        lists = [_Shortlist(one.product.struct, some.data_ptr()) for one, some in tables]
        table, places = self.words.table.detach().contiguous(), self.words.places
        places = None if places is None else places.detach().contiguous()
        writer = _Writer(
            ctypes.pointer(self.stack.struct), ctypes.pointer(self.table.product.struct),
            (_Shortlist * len(lists))(*lists) if lists else None, table.data_ptr(),
            None if places is None else places.data_ptr(), self.words.scale, PAD, BOS, EOS, UNK,
            self.words.zero_begin,
        )  # fmt: skip
        limits, norms = (np.ascontiguousarray(one) for one in (rules.limits, rules.norms))
        dropped, faults = np.zeros(len(self.ids), np.uint8), list[BaseException]()

        def stepped() -> None:
            try:
                dropped[:] = unwanted() if unwanted is not None else False
            except BaseException as error:  # it cannot pass through compiled code: the search is ended first
                faults.append(error)
                dropped[:] = True

        first, slots, texts = self.ids.contiguous(), self.slots.contiguous(), self.texts.contiguous()
        past = self.stack.past(self.memory, slots, texts)
        start = _Start(len(first), first.data_ptr(), ctypes.pointer(past))
        ruled = _Rules(
            rules.size, rules.n_best, rules.stop, rules.min_length, rules.at_limit, limits.ctypes.data,
            norms.ctypes.data,
            _STEPPED() if unwanted is None else _STEPPED(stepped), dropped.ctypes.data,
        )  # fmt: skip
        arrays = [] if required is None else [np.ascontiguousarray(one) for one in required[2:]]
        asked = None if required is None else ctypes.byref(_required(required, arrays))
        search = kernel["beam_search"]
        search.argtypes, search.restype = [_POINTER] * 5, _POINTER
        joined = None if nearest is None else ctypes.byref(_nearest(nearest))
        found = search(*map(ctypes.byref, (writer, start, ruled)), asked, joined)
        if not found:
            raise MemoryError("a beam search")
        written = _read(kernel, found, len(first))
        if faults:
            raise faults[0]
        return written


def _required(required: Required, arrays: Sequence[NDArray[np.generic]]) -> _Required:
    """Return the requirements as compiled code has them; `arrays` are theirs, each in one piece."""
    sizes = (one.shape[1] for one in (required.needed, required.symbols, required.tried, required.prefixes))
    return _Required(required.enough, required.free, *sizes, *(one.ctypes.data for one in arrays))


def _nearest(nearest: NearestStates) -> _Nearest:
    """Return stored states as compiled code has them."""
    sizes = nearest.slots.shape[1], nearest.words.shape[1]
    return _Nearest(*sizes, *nearest[4:], *(one.data_ptr() for one in nearest[:4]))


def _read(kernel: ctypes.CDLL, found: int, texts: int) -> list[list[CompiledHypothesis]]:
    """Copy what compiled code has found, and free it."""
    counts = np.empty(texts, np.int64)
    sizes, take = kernel["sizes"], kernel["take"]
    sizes.argtypes, sizes.restype = [_POINTER, _POINTER], _LONG
    take.argtypes, take.restype = [_POINTER, _LONG, *[_POINTER] * 5], None
    total = sizes(found, counts.ctypes.data)
    many = int(counts.sum())
    lengths, scores, finished = np.empty(many, np.int64), np.empty(many), np.empty(many, np.uint8)
    ids, log_probs = np.empty(total, np.int64), np.empty(total)
    take(found, EOS, *(one.ctypes.data for one in (lengths, scores, finished, ids, log_probs)))
    all_ids, all_log_probs, hypotheses, start = ids.tolist(), log_probs.tolist(), list[CompiledHypothesis](), 0
    for length, score, ended in zip(lengths.tolist(), scores.tolist(), finished.tolist(), strict=True):
        end = start + length
        written = all_ids[start:end]
        if written and written[-1] == EOS:
            written.pop()
        hypotheses.append(CompiledHypothesis(written, score, all_log_probs[start:end], bool(ended)))
        start = end
    each = iter(hypotheses)
    return [[next(each) for _ in range(count)] for count in counts.tolist()]
