"""The contracts of the attention socket: score → span → weighting → read.

Leading axes are open (`...`): a part serves one head or many, one sentence or a batch, without knowing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.ops.modules import module_list


class Memory(NamedTuple):
    """Keys and values that attention reads."""

    keys: Tensor  # (..., key, dim), as prepared by the score
    values: Tensor  # (..., key, value_dim)
    mask: Tensor | None  # (..., key), True = visible; None = all are


class View(NamedTuple):
    """Visible keys of each query, and changes of their scores and weights; fields broadcast to (..., query, key)."""

    mask: Tensor | None = None  # True = visible; None = all are
    bias: Tensor | None = None  # added to the scores
    gain: Tensor | None = None  # multiplies the weights
    values: Tensor | None = None  # (..., query, key, value_dim): read beside the memory's values (relative positions)


class Window(NamedTuple):
    """The few keys that each query may see: `width` places from `first` on, each `step` after the one before.

    `steady` says that the query `step` further on has the same `first` or one `step` further on: neighbours share keys.
    """

    first: Tensor  # (..., query) long; a place before or behind the memory holds no key
    width: int
    step: int = 1
    steady: bool = False


class Attended(NamedTuple):
    """Context and attention weights of each query."""

    context: Tensor  # (..., query, value_dim)
    weights: Tensor | None = None  # (..., query, key) before dropout, when asked for
    past: tuple[Any, ...] = ()  # state for the next call: of the score, the span, the weighting
    terms: Mapping[str, Tensor] = MappingProxyType({})  # by name: log_prob, entropy …; each (..., query)


OWN, READ = "own", "read"  # placeholders of a module: its own column, and the column that it reads besides
EACH = "each"  # the column of a module that reads several at once, their rows concatenated


class Role(NamedTuple):
    """Columns of a batch that give an attention its queries and its keys; None: they come from no column.

    A module sets OWN and READ; the model that contains it replaces them by the columns' names (`name_columns`).
    """

    queries: str | None = None
    keys: str | None = None
    causal: bool = False  # True: no query sees keys behind it
    reversed: bool = False  # True: a sequence is read from right to left, so its last word comes first

    @property
    def crosses(self) -> bool:
        """Return whether it attends from one column to another."""
        return None not in (self.queries, self.keys) and self.queries != self.keys


class Part(nn.Module):
    """Score, span or weighting. Its state, the past, is passed in and returned, never an attribute."""

    sequential = False  # True: needs `after` between any two queries, so the socket takes them one by one
    whole = False  # True: must know every key from the start, so it cannot read a memory that grows word by word
    by_place = False  # True: depends on key positions: keys must not be permuted nor, for a score, be a subset

    def __init__(self, *dims: int) -> None:
        """`dims` are those that a row of its table is built with; many parts need none of them."""
        super().__init__()

    def begin(self, queries: Tensor, memory: Memory) -> Any:
        """Return the past before the first query; None: the part has none. There may be no queries yet (query = 0)."""
        return None

    def after(self, past: Any, attended: Attended, scores: Tensor | None) -> Any:
        """Return the past after these queries. A sequential part gets weights and scores (..., query, key)."""
        return past


class Score(Part, ABC):
    """Score of a query and a key. Built with (query_dim, key_dim)."""

    dot_scale: float | None = None  # the score is dot_scale · query · key, unprepared; None: it is another

    def prepare(self, keys: Tensor) -> Tensor:
        """keys (..., key, key_dim) → prepared keys for `forward`, computed once per sentence."""
        return keys

    @abstractmethod
    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and prepared keys → scores (..., query, key)."""

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor] | None:
        """Return queries and keys whose dot products are the scores, for fast kernels; None: there are none."""
        return None


class Span(Part, ABC):
    """Keys that each query may see, with mask, bias and gain. Built with (query_dim, key_dim)."""

    single = False  # True: a query sees one key at most, so its score decides nothing
    shown: Literal["all", "past"] | None = None  # keys that a query sees, without bias or gain; None: others

    @abstractmethod
    def view_at(self, queries: Tensor, memory: Memory, past: Any, places: Tensor) -> View:
        """queries (..., query, query_dim) → the view of the keys at `places` alone, (..., query, key) or (key).

        Every field broadcasts to the places. The caller hides what the memory's mask hides, and places without a key.
        """

    def forward(self, queries: Tensor, memory: Memory, past: Any) -> View:
        """queries (..., query, query_dim) → what each may see of all keys that the memory's mask shows."""
        view = self.view_at(queries, memory, past, places_of(memory))
        if memory.mask is None:
            return view
        shown = memory.mask.unsqueeze(-2)
        return view._replace(mask=shown if view.mask is None else view.mask & shown)

    def window(self, queries: Tensor, memory: Memory, past: Any) -> Window | None:
        """Return the window that holds all keys a query may see, for a fast kernel; None: unknown, or too many.

        Time and memory must grow with the queries, never with queries times keys.
        """
        return None


class Weighting(Part, ABC):
    """Weights from scores. Built with (query_dim,)."""

    softmax = False  # True: exactly the masked softmax, so the fast kernels may stand in
    normalised = True  # the weights of a query that sees a key sum to one, before any gain
    signed = False  # True: weights may be negative, so they are not a distribution
    only_samples = False  # True: in training no gradient reaches the scores, so they need REINFORCE

    @abstractmethod
    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key), bias added → weights, exactly 0 where hidden, and terms; gain comes later."""


def places_of(memory: Memory) -> Tensor:
    """Return the positions (key) of the keys, from 0."""
    return torch.arange(memory.keys.shape[-2], device=memory.keys.device)


class AllOf(Span):
    """A key is seen if every span shows it; biases and read values add up, gains multiply."""

    def __init__(self, spans: list[Span]) -> None:
        super().__init__()
        self.spans = module_list(spans)
        self.sequential = any(span.sequential for span in spans)
        self.whole = any(span.whole for span in spans)
        self.by_place = any(span.by_place for span in spans)

    def begin(self, queries: Tensor, memory: Memory) -> tuple[Any, ...]:
        return tuple(span.begin(queries, memory) for span in self.spans)

    def after(self, past: tuple[Any, ...], attended: Attended, scores: Tensor | None) -> tuple[Any, ...]:
        return tuple(span.after(old, attended, scores) for span, old in zip(self.spans, past, strict=True))

    def window(self, queries: Tensor, memory: Memory, past: tuple[Any, ...]) -> Window | None:
        """Return the narrowest window: the other spans can only hide more of it."""
        found = (span.window(queries, memory, old) for span, old in zip(self.spans, past, strict=True))
        return min((window for window in found if window is not None), key=lambda window: window.width, default=None)

    def view_at(self, queries: Tensor, memory: Memory, past: tuple[Any, ...], places: Tensor) -> View:
        joined = View()
        for span, old in zip(self.spans, past, strict=True):
            joined = _joined(joined, span.view_at(queries, memory, old, places))
        return joined


def _joined(first: View, second: View) -> View:
    return View(
        mask=_join(first.mask, second.mask, lambda a, b: a & b),
        bias=_join(first.bias, second.bias, lambda a, b: a + b),
        gain=_join(first.gain, second.gain, lambda a, b: a * b),
        values=_join(first.values, second.values, lambda a, b: a + b),
    )


def _join(first: Tensor | None, second: Tensor | None, how: Any) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    joined: Tensor = how(first, second)
    return joined
