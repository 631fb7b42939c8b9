"""The contract of searches, and what all of them need."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from regard.decoding.features.feature import Feature
from regard.records import BOS, EOS, PAD, Batch, Sequences, Writer

WIDEST = 1000  # hypotheses or draws of a sentence at once: more of them take gigabytes
BLOCKS_FROM = 2000  # values from which two passes beat torch's selection (measured on two cores)

Unwanted = Callable[[], AbstractSet[int]]  # lines of a batch that need not be written on


class Hypothesis(NamedTuple):
    """One way to write a target."""

    ids: list[int]  # neither BOS nor EOS
    score: float  # what hypotheses are ranked by
    log_probs: list[float]  # per id, that of EOS at the end if it is finished
    finished: bool  # False: the length limit cut it off


class Search(ABC):
    """Finds targets of high score. It knows two verbs of a writer, `start` and `step`, and nothing else of it.

    A target has at most max_ratio · source + max_extra ids, EOS counted on both sides, and no more than its writer can
    write; min_length before EOS, unless features leave no word to write.
    """

    width = 1  # rows that are written of a sentence at once

    def __init__(self, max_ratio: float, max_extra: int, min_length: int) -> None:
        self.max_ratio, self.max_extra, self.min_length = max_ratio, max_extra, min_length
        self.unwanted: Unwanted = frozenset

    @abstractmethod
    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        """For each example its hypotheses, best first, at least one. Asks `dropped` after every step."""

    def until(self, unwanted: Unwanted) -> Self:
        """The same search for one call: `unwanted` is asked after every step, and its lines are written no further.

        Such a line is answered by what is there of it, unfinished.
        """
        other = copy.copy(self)
        other.unwanted = unwanted
        return other

    def dropped(self, lines: Tensor) -> Tensor | None:
        """(rows,) which of these lines are to be written no further; None: all are written on."""
        unwanted = self.unwanted()
        return torch.isin(lines, torch.tensor([*unwanted], device=lines.device)) if unwanted else None

    def limits(self, writer: Writer, batch: Batch) -> Tensor:
        """(batch,) most ids of each target; max_extra, or what the writer can, where the examples have no source."""
        source = batch.columns.get("source")
        lengths = source.mask.sum(dim=-1) if isinstance(source, Sequences) else torch.zeros_like(batch.lines)
        most = writer.longest(batch)
        return (lengths * self.max_ratio).long().add(self.max_extra).clamp(1, None if most is None else max(1, most))


class Guided:
    """A writer and the features of a log-linear model, stepping together."""

    def __init__(self, writer: Writer, features: Sequence[Feature], batch: Batch, min_length: int) -> None:
        self.writer, self.features, self.min_length = writer, tuple(features), min_length
        self.need_weights = any(feature.needs_weights for feature in features)
        self.state: Any = writer.start(batch)
        self.guides: list[Any] = [feature.start(batch) for feature in features]
        self.ids = torch.full((len(batch.lines), 1), BOS, device=batch.lines.device)  # last written, of each row
        self.written = 0

    def step(self) -> tuple[Tensor, Tensor]:
        """(rows, vocab) scores of the next word, -inf where it may not stand, and plain log-probabilities.

        Without features both are one block, written in place: a copy would cost as much as the decoder's layers.
        """
        step, self.state = self.writer.step(self.ids, self.state, need_weights=self.need_weights)
        scores = step.log_probs
        for place, feature in enumerate(self.features):
            added, self.guides[place] = feature.step(step, self.ids, self.guides[place])
            scores = scores + added
        forbidden = torch.tensor([PAD, BOS, EOS], device=scores.device)
        if self.written < self.min_length:
            ends = scores[:, EOS].clone()
            scores.index_fill_(-1, forbidden, float("-inf"))
            stuck = scores.amax(dim=-1) == float("-inf")  # a feature forbids the rest: only the end may stand
            scores[:, EOS] = scores[:, EOS].where(~stuck, ends)
        else:
            scores.index_fill_(-1, forbidden[:2], float("-inf"))
        self.written += 1
        return scores, step.log_probs

    def ending(self) -> Tensor | float:
        """What the features add to rows that end here."""
        ends = [feature.finish(guide) for feature, guide in zip(self.features, self.guides, strict=True)]
        return sum(ends) if ends else 0.0

    def repeat(self, rows: Tensor) -> None:
        """Before the first step: the given examples (rows,) in place of one row each."""
        self.state = self.state.select(rows)
        self.guides = [guide.select(rows) for guide in self.guides]
        self.ids = self.ids[rows]

    def go_on(self, ids: Tensor, rows: Tensor | None = None) -> None:
        """ids (rows,) are written next, each behind the given row; None: every row behind itself."""
        self.ids = ids.unsqueeze(-1)
        if rows is not None:
            self.state = self.state.select(rows)
            self.guides = [guide.select(rows) for guide in self.guides]


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of the last axis and where they stand, exactly, of equals the first.

    Blocks first: one fast pass on a CPU.
    """
    size = values.shape[-1]
    block = next((size // parts for parts in (100, 128, 64, 125, 80, 50) if size % parts == 0), 0)
    if size < BLOCKS_FROM or not block or count > size // block:
        return _largest(values, min(count, size))
    blocks = values.unflatten(-1, (-1, block))
    chosen = _largest(blocks.amax(dim=-1), count)[1].sort(dim=-1).values  # in order, so that equals stay so too
    inside = blocks.gather(-2, chosen.unsqueeze(-1).expand(*chosen.shape, block)).flatten(-2)
    found, places = _largest(inside, count)
    return found, chosen.gather(-1, places // block) * block + places % block


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """torch's topk takes any of equal values, in any order; this the first."""
    if count == 1:
        found, places = values.max(dim=-1, keepdim=True)
        return found, places
    found, places = values.topk(min(count + 1, values.shape[-1]), dim=-1)
    tied = found[..., count - 1] == found[..., -1]
    if found.shape[-1] > count and bool(tied.any()):
        places[tied, :count] = _first(values[tied], found[tied, -1:], count)
    places = places[..., :count].sort(dim=-1).values
    found, order = values.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return found, places.gather(-1, order)


def _first(values: Tensor, least: Tensor, count: int) -> Tensor:
    """(rows, size) values → where those above `least` (rows, 1) stand and the first equal to it, `count` in all."""
    above, equal = values > least, values == least
    chosen = above | (equal & (equal.cumsum(dim=-1) <= count - above.sum(dim=-1, keepdim=True)))
    return chosen.nonzero()[:, 1].view(-1, count)
