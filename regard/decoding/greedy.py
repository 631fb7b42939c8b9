"""The likeliest next word, again and again."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config.common_settings import MaxExtra, MaxRatio, MinLength
from regard.decoding.beam import BeamSearch
from regard.decoding.features.feature import Feature
from regard.decoding.search import Guided, Hypothesis, Likeliest, Search
from regard.decoding.trace import SearchTrace
from regard.ops.kernels.search import Rules
from regard.records import EOS, Batch, Writer

CROWDED = 0.8  # rows are dropped when no more than this share of them still writes: each drop copies the state

Choose = Callable[[Guided, Tensor, int], Likeliest]  # what steps, which rows, step → one word each
Dropped = Callable[[Tensor], Tensor | None]  # which rows → those that are written no further, a mask; None: none


class GreedySearch(Search):
    """The likeliest word at each step, up to the first end. The score is the sum of the log-probabilities.

    A beam of size 1 finds the same with `stop: full` or without a length penalty; else it may go on past the first end.
    """

    def __init__(self, *, max_ratio: MaxRatio = 2.0, max_extra: MaxExtra = 10, min_length: MinLength = 0) -> None:
        super().__init__(max_ratio, max_extra, min_length)

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        """One hypothesis for each example."""
        limits, guided = self.limits(writer, batch), Guided(writer, features, batch, self.min_length)
        norms = np.ones(int(limits.max()) + 2 if len(limits) else 2)  # a beam of one, whose first end is the last
        rules = Rules(1, 1, False, self.min_length, limits.numpy(force=True), norms)
        if (found := self.written(guided, rules, batch.lines)) is not None:
            return found

        def dropped(rows: Tensor) -> Tensor | None:
            return self.dropped(batch.lines[rows])

        return [[only] for only in write_down(guided, limits, _likeliest, dropped)]

    def traced(self, trace: SearchTrace) -> BeamSearch:
        """A beam of size 1 that ends with its first answer, which is the same."""
        one = BeamSearch(
            size=1,
            length_penalty=0,
            stop="full",
            max_ratio=self.max_ratio,
            max_extra=self.max_extra,
            min_length=self.min_length,
        )
        return one.until(self.unwanted).traced(trace)

    def as_beam(self) -> BeamSearch:
        """One of the usual width, with the same limits."""
        return BeamSearch(max_ratio=self.max_ratio, max_extra=self.max_extra, min_length=self.min_length).until(
            self.unwanted
        )


def write_down(guided: Guided, limits: Tensor, choose: Choose, dropped: Dropped) -> list[Hypothesis]:
    """Writes the chosen word of each row until EOS or its limit (rows,); finished rows are dropped in bunches."""
    limits = limits.clone()
    count, longest = len(limits), int(limits.max()) if len(limits) else 0
    ids = torch.full((count, longest), EOS, device=limits.device)
    log_probs = torch.zeros(count, longest, dtype=torch.float64, device=limits.device)
    scores = torch.zeros(count, dtype=torch.float64, device=limits.device)
    rows, writing = torch.arange(count, device=limits.device), torch.ones(count, dtype=torch.bool, device=limits.device)
    for place in range(longest):
        step = choose(guided, rows, place)
        chosen = step.words.squeeze(-1)
        live = rows[writing]
        ids[live, place] = chosen[writing]
        log_probs[live, place] = step.log_probs.squeeze(-1)[writing].double()
        scores[live] += step.scores.squeeze(-1)[writing].double()
        ended = writing & (chosen == EOS)
        if bool(ended.any()):
            scores[rows[ended]] += torch.as_tensor(guided.ending(), device=limits.device).expand(len(rows))[ended]
        writing = writing & ~ended & (place + 1 < limits[rows])
        if (gone := dropped(rows)) is not None:
            limits[rows[writing & gone]] = place + 1
            writing = writing & ~gone
        left = int(writing.sum())
        if left == 0:
            break
        if left <= CROWDED * len(rows):
            kept = writing.nonzero().squeeze(-1)
            guided.go_on(chosen[kept], kept)
            rows, writing = rows[kept], writing[kept]
        else:
            guided.go_on(chosen)
    written = zip(ids.tolist(), log_probs.tolist(), scores.tolist(), limits.tolist(), strict=True)
    return [_hypothesis(*row) for row in written]


def _hypothesis(ids: list[int], log_probs: list[float], score: float, limit: int) -> Hypothesis:
    """A row as it was written → what it says: up to EOS, or to its limit."""
    finished = EOS in ids[:limit]
    end = ids.index(EOS) if finished else limit
    return Hypothesis(ids[:end], score, log_probs[: end + finished], finished)


def _likeliest(guided: Guided, rows: Tensor, step: int) -> Likeliest:
    return guided.best(1)
