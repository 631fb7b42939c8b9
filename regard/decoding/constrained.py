"""Beam search whose targets contain what is required, with a beam that is shared out anew at every step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.decoding.beam import NO_SCORE, BeamSearch
from regard.decoding.features.feature import Feature
from regard.decoding.phrases import Array, PhraseTracker, Requirement, Requirements
from regard.decoding.search import WIDEST_BEAM, Guided, Hypothesis, Search
from regard.ops.kernels.search import Required, Rules
from regard.ops.topk import top
from regard.records import EOS, Batch, Writer

_MOST_BANKS = 32  # parts of a beam; terms of more ids share some


class ConstrainedBeamSearch(Search):
    """Beam search by dynamic beam allocation (https://arxiv.org/abs/1804.06609), for all hypotheses at once
    (https://aclanthology.org/N19-1090).

    Hypotheses that have written equally many ids of what is required share a bank, and the banks share the beam: the
    best of each goes on, then the second best, until the beam is full. It has one place more for each bank but one.
    What is required is tried behind every hypothesis besides its likeliest words. One may end when it has all, and a
    sentence is done when `size` of the likely ones have, as with `stop: full`. Where none does within the limit, which
    has room for all, the answer is what has most of it, unfinished.
    """

    def __init__(
        self, beam: BeamSearch, requirements: Requirements, *, n_best: int | None = None, early: bool = False
    ) -> None:
        """`n_best` stands in for that of the beam.

        `early`: a sentence with terms is also done when as many likely ones have ended as the beam has n best, and no
        unfinished one that has all terms has a better score so far than the worst of those.
        """
        super().__init__(beam.max_ratio, beam.max_extra, beam.min_length)
        self.beam, self.requirements, self.unwanted = beam, requirements, beam.unwanted
        self.n_best, self.enough = n_best or beam.n_best, beam.n_best if early else 0
        self.width = max(map(self._width, requirements.of.values()), default=beam.width)

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        wanted = self.requirements.batch(batch.lines.tolist())
        limits = self._limits(writer, batch, wanted)
        beams = _Beams(self.beam, wanted, self.requirements.parts_words, limits, self.enough)
        beams.widths = np.array([self._width(one) for one in wanted], np.int64)
        guided = Guided(writer, features, batch, self.min_length)
        norms = np.concatenate([[1.0], self.norm(np.arange(1, limits.max(initial=0) + 2))])
        rules = Rules(self.beam.size, self.n_best, False, self.min_length, limits, norms)
        if (found := self.written(guided, rules, batch.lines, beams.required())) is not None:
            return found
        device = batch.lines.device
        while len(beams.sums):
            words, rows = beams.grow(beams.choices(*guided.step()), guided.ending())
            dropped = self.dropped(batch.lines)
            kept = beams.keep(None if dropped is None else dropped.numpy(force=True))
            if len(kept):
                guided.go_on(torch.from_numpy(words[kept]).to(device), torch.from_numpy(rows[kept]).to(device))
        return [sorted(found, key=lambda one: -one.score)[: self.n_best] for found in beams.finished]

    def norm(self, lengths: Any) -> Any:
        return self.beam.norm(lengths)

    def _width(self, requirement: Requirement) -> int:
        """Hypotheses of an example."""
        return min(self.beam.size + _banks(requirement) - 1, WIDEST_BEAM)

    def _limits(self, writer: Writer, batch: Batch, wanted: Sequence[Requirement]) -> Array:
        """(examples,) most ids of each target."""
        needed = np.array([one.size + self.max_extra if one.size else 0 for one in wanted], np.int64)
        limits, most = np.maximum(self.limits(writer, batch).numpy(force=True), needed), writer.longest(batch)
        return limits if most is None else limits.clip(max=max(1, most))


class _Choices(NamedTuple):
    """Words that may be written next, each behind a row."""

    rows: Array
    words: Array
    scores: Array  # with what features add
    log_probs: Array
    tried: Array  # it is none of the likeliest: it has to bring a term on


class _Beams:
    """The hypotheses that are being written, a row each, those of an example one after the other."""

    def __init__(
        self, search: BeamSearch, wanted: Sequence[Requirement], parts_words: Array, limits: Array, enough: int
    ) -> None:
        count, longest = len(wanted), int(limits.max(initial=0))
        self.search, self.limits, self.enough = search, limits, enough
        self.tracker = PhraseTracker(wanted, parts_words)
        self.banks = np.array([_banks(one) for one in wanted], np.int64)
        self.widths = self.banks
        end = np.full((count, 1), EOS)  # few rows have all, and may end: it is always tried
        self.tried = np.sort(np.concatenate([self.tracker.words, end], axis=1), axis=1)
        self.prefixes = np.full((count, longest), -1)
        for number, one in enumerate(wanted):
            self.prefixes[number, : len(one.prefix)] = one.prefix[:longest]
        self.progress = self.tracker.start()
        self.sums = np.zeros(count)
        self.ids, self.log_probs = np.full((count, longest), EOS), np.zeros((count, longest))
        self.ended = np.zeros(count, np.int64)  # likely hypotheses that have
        self.length = 0
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]

    def required(self) -> Required:
        """The same for compiled code."""
        tracker, (_, nodes, met) = self.tracker, self.progress
        automata = tracker.next, tracker.left, tracker.open, tracker.whole, tracker.parts_words
        terms = tracker.needed, tracker.sizes, tracker.totals, tracker.words
        return Required(self.enough, *terms, *automata, nodes, met, self.tried, self.prefixes, self.banks, self.widths)

    def choices(self, scores: Tensor, log_probs: Tensor) -> _Choices:
        """The likeliest words of each row and those of its terms; as long as there is a prefix, its next word alone."""
        examples = self.progress.examples
        each = torch.from_numpy(self.widths[examples, None] + 1).to(scores.device)  # whatever its batch mates have
        _, likely = top(scores, int(each.max()))
        near = torch.arange(likely.shape[1], device=scores.device) < each
        forced, tried = (
            torch.from_numpy(words[examples]).to(likely.device)
            for words in (self.prefixes[:, self.length, None], self.tried)
        )
        new = (tried >= 0) & ((tried.unsqueeze(-1) != likely.unsqueeze(-2)) | ~near.unsqueeze(-2)).all(dim=-1)
        given = torch.cat([near, new], dim=-1) & (forced < 0)
        words = torch.cat([likely, tried, forced], dim=-1).clamp(min=0)
        found = scores.gather(-1, words)
        rows, places = (torch.cat([given, forced >= 0], dim=-1) & (found > NO_SCORE)).nonzero(as_tuple=True)
        picked = (one[rows, places] for one in (words, found.double(), log_probs.gather(-1, words).double()))
        tried_far = (places >= likely.shape[1]) & (places < words.shape[1] - 1)
        return _Choices(*(one.numpy(force=True) for one in (rows, *picked, tried_far)))

    def grow(self, choices: _Choices, ending: Tensor | float) -> tuple[Array, Array]:
        """One word more: what has all may end, the best of each bank go on → words and the rows they follow."""
        self.length += 1
        before, tracker = self.progress, self.tracker
        progress = tracker.read(before.select(choices.rows), choices.words)
        remaining, ends = tracker.remaining(progress), choices.words == EOS
        fit = ~choices.tried | ends | (remaining < tracker.remaining(before)[choices.rows])
        fit &= ~ends | tracker.complete(progress)
        sums, examples = self.sums[choices.rows] + choices.scores, progress.examples
        closed = np.zeros(len(self.limits), np.bool_)  # at the limit and can end: nothing goes on
        closed[examples[fit & ends]] = True
        fit &= ends | ~(closed & (self.limits == self.length))[examples]
        totals = np.maximum(tracker.totals, 1)[examples]
        banks = (totals - remaining) * (self.banks[examples] - 1) // totals
        order = np.lexsort((-sums, -banks, examples, ~fit))[: int(fit.sum())]
        ranks = _ranks(examples[order], banks[order])
        ended, likely = order[ends[order]], ranks[ends[order]] < self.search.size
        self.ended += np.bincount(examples[ended[likely]], minlength=len(self.ended))
        first = (_ranks(examples[ended]) == 0) & (tracker.totals[examples[ended]] > 0)
        self._finish(choices, ended[likely | first], sums, ending)
        order = order[~ends[order]]
        ranks = _ranks(examples[order], banks[order])
        order = order[np.lexsort((np.arange(len(order)), ranks, examples[order]))]
        order = order[_ranks(examples[order]) < self.widths[examples[order]]]
        self._give_up(np.setdiff1d(before.examples, examples[order]), self.length - 1)
        self.progress, self.sums, rows = progress.select(order), sums[order], choices.rows[order]
        self.ids, self.log_probs = self.ids[rows], self.log_probs[rows]
        self.ids[:, self.length - 1] = choices.words[order]
        self.log_probs[:, self.length - 1] = choices.log_probs[order]
        return choices.words[order], rows

    def keep(self, dropped: Array | None) -> Array:
        """Drops the examples that are done, or nobody wants; which rows stay (kept,)."""
        examples = self.progress.examples
        done = self.limits <= self.length
        if dropped is not None:
            done |= dropped
        self._give_up(np.unique(examples[done[examples]]), self.length)
        done |= (self.ended >= self.search.size) | self._have_enough()
        kept: Array = (~done)[examples].nonzero()[0]
        self.progress, self.sums = self.progress.select(kept), self.sums[kept]
        self.ids, self.log_probs = self.ids[kept], self.log_probs[kept]
        return kept

    def _have_enough(self) -> Array:
        """(examples,) whether no row that has all terms has a better score so far than the worst of the best ended."""
        enough = (self.ended >= self.enough) & (self.tracker.totals > 0) & (self.enough > 0)
        sums = np.full(len(enough), NO_SCORE)
        whole = self.tracker.remaining(self.progress) == 0
        np.maximum.at(sums, self.progress.examples[whole], self.sums[whole])
        for example in enough.nonzero()[0].tolist():
            ranked = sorted((one.score for one in self.finished[example]), reverse=True)
            enough[example] = sums[example] / self.search.norm(self.length) <= ranked[self.enough - 1]
        return enough

    def _finish(self, choices: _Choices, ended: Array, sums: Array, ending: Tensor | float) -> None:
        """Notes the hypotheses that end here."""
        added = ending.double().numpy(force=True) if isinstance(ending, Tensor) else np.full(len(self.sums), ending)
        rows = choices.rows[ended]
        scores = sums[ended] / self.search.norm(self.length) + added[rows]
        for one, row, score in zip(ended.tolist(), rows.tolist(), scores.tolist(), strict=True):
            example = int(self.progress.examples[row])
            each = [*self.log_probs[row, : self.length - 1].tolist(), float(choices.log_probs[one])]
            ids, limit = self.ids[row, : self.length - 1].tolist(), int(self.limits[example])
            self.finished[example].append(Hypothesis.ended(ids, score, each, limit))

    def _give_up(self, examples: Array, length: int) -> None:
        """An example that none of the hypotheses has ended of is answered by the one that has most, unfinished."""
        remaining = self.tracker.remaining(self.progress)
        for example in examples.tolist():
            if not self.finished[example]:
                rows = (self.progress.examples == example).nonzero()[0]
                row = rows[np.lexsort((-self.sums[rows], remaining[rows]))[0]]
                ids, each = self.ids[row, :length].tolist(), self.log_probs[row, :length].tolist()
                score = float(self.sums[row]) / float(self.search.norm(max(length, 1)))
                self.finished[example].append(Hypothesis(ids, score, each, False))


def _banks(requirement: Requirement) -> int:
    """Parts of a beam."""
    return min(requirement.size - len(requirement.prefix) + 1, _MOST_BANKS)


def _ranks(*keys: Array) -> Array:
    """Rows in the order of their keys → the number of each among those of equal keys, from 0."""
    count = len(keys[0])
    new = np.ones(count, np.bool_)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = new.nonzero()[0]
    return np.arange(count) - np.repeat(starts, np.diff(np.append(starts, count)))
