"""Stack search in one call of compiled code."""

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.ops.kernels.library import library
from regard.statistical.ngram_model import NgramModel

if TYPE_CHECKING:  # it calls this module
    from regard.statistical.stack_search import Problem

_SOURCE = Path(__file__).with_name("stack_search.cpp")
WIDEST = 60  # words between the first gap and the last covered word: they are bits of a number
_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


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


def compiled_search(problem: "Problem", n_best: int) -> list[tuple[list[int], float]] | None:
    """Return derivations as options and score; None without a compiler, or where jumps are too wide for its numbers.

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
    told = _Problem(*sizes, *(one.ctypes.data for one in kept))
    language = _language(problem.language)
    options, lengths, scores = np.empty((n_best, length), np.int32), np.empty(n_best, np.int64), np.empty(n_best)
    function = kernel["stack_search"]
    function.argtypes, function.restype = [_POINTER] * 5, _LONG
    found = function(
        ctypes.byref(told), ctypes.byref(language), *(one.ctypes.data for one in (options, lengths, scores))
    )
    if found < 0:
        raise MemoryError("a stack search")
    return [(options[row, : lengths[row]].tolist(), float(scores[row])) for row in range(found)]


def _array(values: Any, kind: Any) -> Any:
    return np.ascontiguousarray(values, kind)


def _language(model: NgramModel) -> _Language:
    """The model's own arrays, which live as long as it does."""
    arrays = (model.firsts, model.arcs, model.log_probs, model.nexts, model.backoffs, model.lowers)
    return _Language(*(one.ctypes.data for one in arrays), model.start, model.end)
