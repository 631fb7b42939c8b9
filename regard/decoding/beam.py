"""Beam search with length normalisation, and a stop that is never too early."""

import copy
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from regard.config import Doc
from regard.config.common_settings import MaxExtra, MaxRatio, MinLength
from regard.decoding.features.feature import Feature
from regard.decoding.phrases import Array
from regard.decoding.search import WIDEST_BEAM, Guided, Hypothesis, Likeliest, Search
from regard.decoding.trace import Considered, SearchTrace
from regard.ops.kernels.search import Rules
from regard.records import EOS, Batch, Writer

NO_SCORE = float("-inf")
_Penalty = Annotated[float, Ge(-5), Le(5)]  # beyond, length alone decides


class BeamSearch(Search):
    """Keeps the `size` best unfinished hypotheses of each sentence.

    score = sum of log-probabilities / n^length_penalty, or by `normalisation: gnmt` / ((5 + n) / 6)^length_penalty
    (https://arxiv.org/abs/1609.08144, equation 14), n with EOS; what features say of the end is added after that.
    stop "exact": a sentence goes on while an unfinished hypothesis could still beat the n best finished ones; "full":
    until `size` are finished, which is quicker. So a beam of size 1 that divides by a length goes on past its first end
    while a longer hypothesis could score better, and greedy search does not; with "full" both find the same.
    """

    def __init__(
        self,
        *,
        size: Annotated[int, Ge(1), Le(WIDEST_BEAM), Doc("Unfinished answers kept for each text.")] = 5,
        n_best: Annotated[int, Ge(1), Le(WIDEST_BEAM), Doc("Answers kept for each text, the best first.")] = 1,
        length_penalty: Annotated[
            _Penalty, Doc("How much length is divided out: 0 prefers short answers, 1 is a mean over the pieces.")
        ] = 1.0,
        normalisation: Annotated[
            Literal["length", "gnmt"], Doc("Formula of the penalty: n^length_penalty, or that of GNMT.")
        ] = "length",
        stop: Annotated[
            Literal["exact", "full"],
            Doc("End when nothing can win any more (exact), or, quicker, when `size` answers are finished (full)."),
        ] = "exact",
        max_ratio: MaxRatio = 2.0,
        max_extra: MaxExtra = 10,
        min_length: MinLength = 0,
    ) -> None:
        super().__init__(max_ratio, max_extra, min_length)
        self.size, self.n_best = max(size, n_best), n_best
        self.width = self.size
        self.trace: SearchTrace | None = None
        self.length_penalty, self.gnmt, self.exact = length_penalty, normalisation == "gnmt", stop == "exact"

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        limits, guided = self.limits(writer, batch).numpy(force=True), Guided(writer, features, batch, self.min_length)
        norms = self.norm(np.arange(1, limits.max(initial=0) + 2))
        rules = Rules(self.size, self.n_best, self.exact, self.min_length, limits, np.concatenate([[1.0], norms]))
        if self.trace is None and (found := self.written(guided, rules, batch.lines)) is not None:
            return found
        each = self.size + 1 if self.trace is None else 2 * self.size + 1  # one more than go on, since EOS does not
        beams = _Beams(self, limits)
        open_ended, device = any(feature.rewards for feature in features), batch.lines.device
        while len(beams.sentences):
            best = guided.best(each)
            count = len(best.words)
            words, rows = beams.grow(best, guided.ending())
            dropped = self.dropped(batch.lines[torch.from_numpy(beams.sentences).to(device)])
            kept = beams.keep(open_ended, None if dropped is None else dropped.numpy(force=True))
            words, rows = words[kept].flatten(), rows[kept].flatten()
            if len(rows):
                unmoved = len(rows) == count and np.array_equal(rows, np.arange(count))
                guided.go_on(torch.from_numpy(words).to(device), None if unmoved else torch.from_numpy(rows).to(device))
        if self.trace is not None:
            self.trace.finish(beams.finished)
        return [sorted(found, key=lambda one: -one.score)[: self.n_best] for found in beams.finished]

    def traced(self, trace: SearchTrace) -> "BeamSearch":
        """The same, step by step; of each step the trace is told as many words that were dropped as went on."""
        other = copy.copy(self)
        other.trace = trace
        return other

    def as_beam(self) -> "BeamSearch":
        """Itself."""
        return self

    def norm(self, lengths: Any) -> Any:
        return ((5.0 + lengths) / 6.0 if self.gnmt else lengths * 1.0) ** self.length_penalty


class _Beams:
    """The hypotheses of the sentences that are still being written, each array (sentence, beam, …).

    Arrays on the CPU, whatever the model runs on: numpy's calls on a few numbers are quicker than torch's.
    """

    def __init__(self, search: BeamSearch, limits: Array) -> None:
        self.search, self.limits = search, limits
        count, longest = len(limits), int(limits.max()) if len(limits) else 0
        self.sentences = np.arange(count)
        self.sums = np.zeros((count, 1))
        self.ids = np.full((count, 1, longest), EOS)
        self.log_probs = np.zeros((count, 1, longest))
        self.bar = np.full(count, NO_SCORE)  # n-th best finished score
        self.length = 0
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]

    def grow(self, best: Likeliest, ending: Tensor | float) -> tuple[Array, Array]:
        """One word more: EOS among the best `size` ends a hypothesis, the best `size` others go on.

        The best `size` + 1 words of each row and EOS → words and the rows they follow, each (sentence, beam).
        """
        size = self.search.size
        log_probs = _numbers(best.log_probs)
        each = log_probs.size // self.sums.size  # words of a row
        scores = self._closed(_numbers(best.scores).reshape(*self.sums.shape, each))
        sums = (self.sums[:, :, None] + scores).reshape(len(self.sums), -1)
        order = _places(sums)  # among all words of all rows, as the places below
        sums, words, log_probs = sums.take(order), best.words.numpy(force=True).take(order), log_probs.take(order)
        rows = order // each
        self.length += 1
        self._finish(sums[:, :size], words[:, :size], rows[:, :size], log_probs[:, :size], ending)
        others = np.where(words == EOS, NO_SCORE, sums)
        going = _places(others)[:, :size]
        if self.search.trace is not None:
            self.search.trace.step(self.sentences, Considered(sums, words, rows, log_probs), going)
        self.sums, words, rows = others.take(going), words.take(going), rows.take(going)
        longest = self.ids.shape[-1]
        self.ids, self.log_probs = self.ids.reshape(-1, longest)[rows], self.log_probs.reshape(-1, longest)[rows]
        self.ids[:, :, self.length - 1] = words
        self.log_probs[:, :, self.length - 1] = log_probs.take(going)
        return words, rows

    def _closed(self, scores: Array) -> Array:
        """Scores (sentence, beam, word) with EOS, the last, hidden, but at the limit the others, if any can end."""
        last = (self.limits == self.length + 1) & (scores[:, :, -1] > NO_SCORE).any(axis=1)
        scores[~last, :, -1] = NO_SCORE
        scores[last, :, :-1] = NO_SCORE
        return scores

    def keep(self, open_ended: bool, dropped: Array | None) -> Array:
        """Drops the sentences that are done, or nobody wants; which of them stay (kept,)."""
        if self.search.exact:
            soon, late = self.search.norm(self.length + 1), self.search.norm(self.limits)
            hope = np.maximum(self.sums[:, 0] / soon, self.sums[:, 0] / late)  # all ends between are no better
            done = (hope <= self.bar) & (not open_ended)
        else:
            counts = [len(self.finished[sentence]) for sentence in self.sentences]
            done = np.array(counts) >= self.search.size
        done |= (self.limits <= self.length) | ~(self.sums > NO_SCORE).any(axis=1)
        if dropped is not None:
            done |= dropped
        self._give_up(done.nonzero()[0])
        kept: Array = (~done).nonzero()[0]
        if len(kept) < len(done):
            self.sentences, self.limits, self.bar = self.sentences[kept], self.limits[kept], self.bar[kept]
            self.sums, self.ids, self.log_probs = self.sums[kept], self.ids[kept], self.log_probs[kept]
        return kept

    def _finish(self, sums: Array, words: Array, rows: Array, last: Array, ending: Tensor | float) -> None:
        """Notes the hypotheses that end here, unless as many better ones are known."""
        ends = (words == EOS) & (sums > NO_SCORE)
        if not ends.any():
            return
        added = _numbers(ending)[rows] if isinstance(ending, Tensor) else ending
        scores = sums / self.search.norm(self.length) + added
        if self.search.exact:
            ends &= scores > self.bar[:, None]
        places, beams = ends.nonzero()
        ended, longest = rows[places, beams], self.ids.shape[-1]
        log_probs = self.log_probs.reshape(-1, longest)[ended, : self.length]
        log_probs[:, -1] = last[places, beams]
        ids = self.ids.reshape(-1, longest)[ended, : self.length - 1].tolist()
        found = zip(places.tolist(), ids, scores[places, beams].tolist(), log_probs.tolist(), strict=True)
        for place, written, score, each in found:
            self._note(place, Hypothesis.ended(written, score, each, int(self.limits[place])))

    def _note(self, place: int, hypothesis: Hypothesis) -> None:
        known = self.finished[int(self.sentences[place])]
        known.append(hypothesis)
        if len(known) >= self.search.n_best:
            self.bar[place] = sorted((one.score for one in known), reverse=True)[self.search.n_best - 1]

    def _give_up(self, places: Array) -> None:
        """A sentence that could not end is answered by what was written of it."""
        for place in places.tolist():
            known = self.finished[int(self.sentences[place])]
            norm = float(self.search.norm(self.length))
            for beam in range(min(self.search.n_best, self.sums.shape[1])):
                if known and (known[0].has_end or float(self.sums[place, beam]) == NO_SCORE):
                    break
                ids, each = self.ids[place, beam, : self.length], self.log_probs[place, beam, : self.length]
                known.append(Hypothesis(ids.tolist(), float(self.sums[place, beam]) / norm, each.tolist(), False))


def _places(values: Array) -> Array:
    """(sentences, n) → where the numbers of each sentence stand among all of them, falling, of equals the first."""
    order = (-values).argsort(axis=1, kind="stable")
    return order + np.arange(0, values.size, values.shape[1])[:, None]


def _numbers(values: Tensor) -> Array:
    """Return float64 on the CPU: numpy knows no bfloat16, and some devices know no float64."""
    return values.detach().cpu().double().numpy()
