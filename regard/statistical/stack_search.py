"""Stack search for phrase-based translation with recombination and cube pruning, and its n best derivations.

Stacks by the number of covered words (Koehn 2004, https://link.springer.com/chapter/10.1007/978-3-540-30194-3_13);
cube pruning: https://aclanthology.org/P07-1019; the n best of a lattice: https://aclanthology.org/W05-1506.
"""

import ctypes
import heapq
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.data.ragged import Ragged
from regard.ops.plain import is_plain
from regard.runtime.compiled import library
from regard.statistical.ngram_model import Ints, NgramModel
from regard.statistical.phrase_scores import DISCONTINUOUS, MONOTONE, SWAP

_SOURCE = Path(__file__).with_name("stack_search.cpp")
WIDEST = 60  # words between the first gap and the last covered word: they are bits of a number
_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class PhraseOptions(NamedTuple):
    """The translations of all stretches of a sentence, by start and end, the best of a stretch first."""

    starts: Ints  # (option,) first source word
    ends: Ints  # (option,) the one behind the last
    words: Ragged  # (option,) the target, in the language model's numbers
    inside: Floats  # (option,) its weighted score but for language model and reordering
    previous: Floats  # (option, 3) weighted, by how it stands to the phrase before
    following: Floats  # (option, 3) weighted, by how the next phrase stands to it
    groups: Ints  # (option,) equal where `following` is


class Problem(NamedTuple):
    """A sentence to be translated. Only sums of the numbers here are taken: what is weighted is weighted before."""

    length: int
    options: PhraseOptions
    outlook: Floats  # (length + 1, length + 1): of a stretch the best score that can be hoped for
    penalties: Floats  # by the distance of a jump; as many as are allowed
    language: NgramModel  # with weighted logarithms
    size: int  # hypotheses of a stack
    pops: int  # hypotheses that are made for a stack


class Derivation(NamedTuple):
    """A translation in the making."""

    options: list[int]  # in the order of the target
    score: float


_Path: TypeAlias = "tuple[int, _Path] | None"  # options from here to the end


class _Hypothesis(NamedTuple):
    gap: int  # the first source word that is not covered
    window: int  # bit i: whether word gap + 1 + i is
    state: int  # of the language model
    start: int  # of the last phrase
    end: int
    following: int  # the option whose `following` counts; -1 at the start


class _Node:
    """A hypothesis and all ways to it."""

    def __init__(self, hypothesis: _Hypothesis, score: float, rest: float) -> None:
        self.hypothesis, self.score, self.rest = hypothesis, score, rest
        self.arcs = list[tuple["_Node", int, float]]()  # the node before, the option and what it adds

    @property
    def total(self) -> float:
        """With the outlook for what is not covered."""
        return self.score + self.rest


def search(problem: Problem, n_best: int = 1) -> list[Derivation]:
    """Return up to `n_best` derivations, best first; a sentence of no words has an empty one.

    There is at least one where every word has an option of its own. Compiled and plain code find the same.
    """
    found = None if is_plain() else _compiled(problem, n_best)
    return _Search(problem).best(n_best) if found is None else found


def covered(gap: int, window: int, start: int, end: int) -> tuple[int, int] | None:
    """Return gap and window with a stretch more; None where some of it is covered already."""
    bits = ((1 << (end - start)) - 1) << (start - gap) if start >= gap else 0
    before = window << 1
    if not bits or bits & before:
        return None
    after = bits | before
    while after & 1:
        gap, after = gap + 1, after >> 1
    return gap, after >> 1


def orientation(start: int, end: int, last: tuple[int, int]) -> int:
    """Return how a phrase stands to the last one."""
    return MONOTONE if start == last[1] else SWAP if end == last[0] else DISCONTINUOUS


class _Search:
    """The stacks of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.length, self.language = problem, problem.length, problem.language
        options = problem.options
        self.words = [options.words.row(one).tolist() for one in range(len(options.starts))]
        self.inside, self.groups = options.inside.tolist(), options.groups.tolist()
        self.previous, self.following = options.previous.tolist(), options.following.tolist()
        self.starts, self.ends = options.starts.tolist(), options.ends.tolist()
        self.penalties, self.outlook = problem.penalties.tolist(), problem.outlook.tolist()
        self.spans: dict[tuple[int, int], list[int]] = {}
        for one, span in enumerate(zip(self.starts, self.ends, strict=True)):
            self.spans.setdefault(span, []).append(one)
        first = _Node(_Hypothesis(0, 0, self.language.start, 0, 0, -1), 0.0, self.outlook[0][self.length])
        self.stacks: list[list[_Node]] = [[first]]
        for size in range(1, self.length + 1):
            self.stacks.append(self._stack(size))

    def best(self, n_best: int) -> list[Derivation]:
        """Walk back from the last stack, the best way first."""
        numbers, heap, found = count(), list[tuple[float, int, _Node, float, _Path]](), list[Derivation]()

        def push(node: _Node, suffix: float, path: _Path) -> None:
            heapq.heappush(heap, (-(node.score + suffix), next(numbers), node, suffix, path))

        for node in self.stacks[-1]:
            push(node, self._ending(node.hypothesis), None)
        while heap and len(found) < n_best:
            _, _, node, suffix, path = heapq.heappop(heap)
            if not node.arcs:
                found.append(Derivation(_unrolled(path), suffix))
            for before, option, added in node.arcs:
                push(before, suffix + added, (option, path))
        return found

    def _stack(self, size: int) -> list[_Node]:
        """The hypotheses that cover `size` words."""
        nodes = dict[tuple[int, ...], _Node]()
        heap, numbers = list[tuple[float, int, _Grid, int, int, _Node]](), count()

        def push(grid: "_Grid", row: int, column: int) -> None:
            if row < len(grid.nodes) and column < len(grid.options) and (row, column) not in grid.seen:
                grid.seen.add((row, column))
                node = self._extended(grid.nodes[row], grid.options[column], grid)
                heapq.heappush(heap, (-node.total, next(numbers), grid, row, column, node))

        for grid in self._grids(size):
            push(grid, 0, 0)
        for _ in range(self.problem.pops):
            if not heap:
                break
            _, _, grid, row, column, node = heapq.heappop(heap)
            self._recombine(nodes, node)
            push(grid, row + 1, column)
            push(grid, row, column + 1)
        return sorted(nodes.values(), key=lambda node: -node.total)[: self.problem.size]

    def _grids(self, size: int) -> Iterator["_Grid"]:
        """Hypotheses of equal cover and end, beside the options of a stretch that they can take."""
        reach = len(self.penalties) - 1
        for before in range(size):
            together = dict[tuple[int, int, int], list[_Node]]()
            for node in self.stacks[before]:
                gap, window, _, _, end, _ = node.hypothesis
                together.setdefault((gap, window, end), []).append(node)
            width = size - before
            for (gap, window, last), nodes in together.items():
                for start in range(max(gap, last - reach), min(self.length - width, last + reach) + 1):
                    options, after = self.spans.get((start, start + width)), covered(gap, window, start, start + width)
                    if options and after and start + width - after[0] <= reach:
                        yield _Grid(nodes, options, *after, self._rest(*after))

    def _extended(self, node: _Node, option: int, grid: "_Grid") -> _Node:
        """A hypothesis with a phrase more."""
        _, _, state, first, last, following = node.hypothesis
        start, end = self.starts[option], self.ends[option]
        added, side = self.inside[option], orientation(start, end, (first, last))
        added += self.penalties[abs(start - last)]
        added += self.previous[option][side]
        added += self.following[following][side] if following >= 0 else 0.0
        for word in self.words[option]:
            value, state = self.language.step(state, word)
            added += value
        found = _Node(_Hypothesis(grid.gap, grid.window, state, start, end, option), node.score + added, grid.rest)
        found.arcs.append((node, option, added))
        return found

    def _recombine(self, nodes: dict[tuple[int, ...], _Node], node: _Node) -> None:
        """Keep the better one of two that can go on in the same ways, and both ways to it."""
        *place, following = node.hypothesis
        key = (*place, self.groups[following])
        known = nodes.setdefault(key, node)
        if known is not node:
            known.arcs += node.arcs
            known.score = max(known.score, node.score)

    def _ending(self, hypothesis: _Hypothesis) -> float:
        """Return the score that the end of the sentence adds."""
        value, _ = self.language.step(hypothesis.state, self.language.end)
        side = MONOTONE if hypothesis.end == self.length else DISCONTINUOUS
        return value + (self.following[hypothesis.following][side] if hypothesis.following >= 0 else 0.0)

    def _rest(self, gap: int, window: int) -> float:
        """The outlook for all stretches that are not covered, from left to right."""
        total, start, place, bits = 0.0, gap, gap + 1, window
        while bits:
            if bits & 1:
                total += self.outlook[start][place] if start < place else 0.0
                start = place + 1
            place, bits = place + 1, bits >> 1
        return total + (self.outlook[start][self.length] if start < self.length else 0.0)


class _Grid:
    """Grid of cube pruning: hypotheses and options, both the best first; gap and window are those behind."""

    def __init__(self, nodes: list[_Node], options: list[int], gap: int, window: int, rest: float) -> None:
        self.nodes, self.options, self.gap, self.window, self.rest = nodes, options, gap, window, rest
        self.seen = set[tuple[int, int]]()


def _unrolled(path: "_Path") -> list[int]:
    found = list[int]()
    while path is not None:
        option, path = path
        found.append(option)
    return found


def outlooks(length: int, starts: NDArray[np.int32], ends: NDArray[np.int32], estimates: Floats) -> Floats:
    """Return (length + 1, length + 1): the best sum of options' estimates that covers each stretch in any order."""
    best = np.full((length + 1, length + 1), -np.inf)
    np.maximum.at(best, (starts, ends), estimates)
    for width in range(2, length + 1):
        for start in range(length - width + 1):
            end = start + width
            split = (best[start, start + 1 : end] + best[start + 1 : end, end]).max()
            best[start, end] = max(best[start, end], split)
    np.fill_diagonal(best, 0.0)
    return best


# The same in compiled code


class _Language(ctypes.Structure):
    _fields_ = (
        *((name, _POINTER) for name in ("firsts", "arcs", "log_probs", "nexts", "backoffs", "lowers")),
        *((name, _LONG) for name in ("start", "end")),
    )


class _Problem(ctypes.Structure):
    _fields_ = (
        *((name, _LONG) for name in ("length", "options", "reach", "size", "pops", "n_best")),
        *((name, _POINTER) for name in ("starts", "ends", "word_firsts", "words", "inside", "previous", "following")),
        *((name, _POINTER) for name in ("groups", "outlook", "penalties")),
    )


def _compiled(problem: Problem, n_best: int) -> list[Derivation] | None:
    """Search in one call of compiled code; None without a compiler, or where jumps are too wide for its numbers.

    Raises MemoryError.
    """
    kernel, reach = library(_SOURCE, (_Language, _Problem)), len(problem.penalties) - 1
    if kernel is None or reach > WIDEST:
        return None
    given, length = problem.options, problem.length
    kept = [  # what the numbers below point into
        *(_array(one, np.int32) for one in (given.starts, given.ends)),
        _array(given.words.offsets, np.int64), _array(given.words.data, np.int32),
        *(_array(one, np.float64) for one in (given.inside, given.previous, given.following)),
        _array(given.groups, np.int32),
        *(_array(one, np.float64) for one in (problem.outlook, problem.penalties)),
    ]  # fmt: skip
    sizes = length, len(given.starts), reach, problem.size, problem.pops, n_best
    sized = _Problem(*sizes, *(one.ctypes.data for one in kept))
    language = _language(problem.language)
    options, lengths, scores = np.empty((n_best, length), np.int32), np.empty(n_best, np.int64), np.empty(n_best)
    function = kernel["stack_search"]
    function.argtypes, function.restype = [_POINTER] * 5, _LONG
    found = function(
        ctypes.byref(sized), ctypes.byref(language), *(one.ctypes.data for one in (options, lengths, scores))
    )
    if found < 0:
        raise MemoryError("a stack search")
    return [Derivation(options[row, : lengths[row]].tolist(), float(scores[row])) for row in range(found)]


def _array(values: Any, kind: Any) -> Any:
    return np.ascontiguousarray(values, kind)


def _language(model: NgramModel) -> _Language:
    """The model's own arrays, which live as long as it does."""
    arrays = (model.firsts, model.arcs, model.log_probs, model.nexts, model.backoffs, model.lowers)
    return _Language(*(one.ctypes.data for one in arrays), model.start, model.end)
