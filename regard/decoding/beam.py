"""Beam search with length normalisation and a stop that is never too early, with or without required terms."""

import copy
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from regard.config import Doc
from regard.config.common_settings import AtLimit, MaxExtra, MaxRatio, MinLength
from regard.decoding.features.feature import Feature
from regard.decoding.phrases import Array, PhraseProgress, PhraseTracker, Requirement, Requirements
from regard.decoding.search import WIDEST_BEAM, Guided, Hypothesis, Search
from regard.decoding.trace import Considered, SearchTrace
from regard.ops.kernels.search import BEAM_LIMITS, BEAM_STOPS, Required, Rules
from regard.records import EOS, Batch, Writer

_NO_SCORE = float("-inf")
_MOST_BANKS = 32  # parts of a beam; terms of more ids share some
_Penalty = Annotated[float, Ge(-5), Le(5)]  # beyond, length alone decides


class BeamSearch(Search):
    """Keeps the `size` best unfinished hypotheses of each sentence.

    score = sum of log-probabilities / n^length_penalty, or by `normalisation: gnmt` / ((5 + n) / 6)^length_penalty
    (https://arxiv.org/abs/1609.08144, equation 14), n with EOS; what features say of the end is added after that.
    stop "exact": a sentence goes on while an unfinished hypothesis could still beat the n best finished ones; "full":
    until `size` are finished, which is quicker; "best_full": until `size` are finished and the best unfinished one has
    no better score so far than the worst of the best `size` of them, as transformers has it. So a beam of size 1 that
    divides by a length goes on past its first end while a longer hypothesis could score better, and greedy search does
    not; with "full" both find the same.
    """

    def __init__(
        self,
        *,
        size: Annotated[int, Ge(1), Le(WIDEST_BEAM), Doc("Beam size.")] = 5,
        n_best: Annotated[int, Ge(1), Le(WIDEST_BEAM), Doc("N-best size: translations per text, best first.")] = 1,
        at_limit: AtLimit = "end",
        length_penalty: Annotated[
            _Penalty, Doc("Length penalty exponent: 0 prefers short output, 1 is the mean over pieces.")
        ] = 1.0,
        normalisation: Annotated[
            Literal["length", "gnmt"], Doc("Formula of the length penalty: n^length_penalty, or GNMT's.")
        ] = "length",
        stop: Annotated[
            Literal["exact", "full", "best_full"],
            Doc(
                "Stopping rule: when no hypothesis can improve (exact), once `size` have finished (full, faster), or "
                "also the best open one is no better so far than the worst of them (best_full, as in transformers)."
            ),
        ] = "exact",
        max_ratio: MaxRatio = 2.0,
        max_extra: MaxExtra = 10,
        min_length: MinLength = 0,
    ) -> None:
        super().__init__(max_ratio, max_extra, min_length, at_limit=at_limit)
        self.size, self.n_best = max(size, n_best), n_best
        self.width = self.size
        self.trace: SearchTrace | None = None
        self.length_penalty, self.gnmt, self.stop = length_penalty, normalisation == "gnmt", stop
        self.enough = 0  # likely ends that may stop a sentence with terms; 0: never

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        wanted = [one.behind(self.first) for one in self.requirements.batch(batch.lines.tolist())]
        limits, guided = self._limits(writer, batch, wanted), Guided(writer, features, batch, self.min_length)
        terms = _Terms(self, wanted, int(limits.max(initial=0))) if self.requirements.of or self.first else None
        norms = np.concatenate([[1.0], self.norm(np.arange(1, limits.max(initial=0) + 2))])
        stop, at_limit = BEAM_STOPS.index(self.stop), BEAM_LIMITS.index(self.at_limit)
        rules = Rules(self.size, self.n_best, stop, self.min_length, limits, norms, at_limit)
        required = None if terms is None else terms.required()
        if self.trace is None and (found := self.written(guided, rules, batch.lines, required)) is not None:
            return found
        beams, device = _Beams(self, limits, terms), batch.lines.device
        open_ended = any(feature.rewards for feature in features)
        while count := len(beams.sums):
            words, rows = beams.grow(beams.choices(guided), guided.ending())
            dropped = self.dropped(batch.lines)
            kept = beams.keep(open_ended, None if dropped is None else dropped.numpy(force=True))
            words, rows = words[kept], rows[kept]
            if len(rows):
                unmoved = len(rows) == count and np.array_equal(rows, np.arange(count))
                guided.go_on(torch.from_numpy(words).to(device), None if unmoved else torch.from_numpy(rows).to(device))
        if self.trace is not None:
            self.trace.finish(beams.finished)
        return [sorted(found, key=lambda one: -one.score)[: self.n_best] for found in beams.finished]

    def requiring(self, requirements: Requirements, *, n_best: int | None = None, early: bool = False) -> "BeamSearch":
        """The same search of targets that contain what is required: dynamic beam allocation
        (https://arxiv.org/abs/1804.06609), for all hypotheses at once (https://aclanthology.org/N19-1090).

        Hypotheses that have written equally many ids of what is required share a bank, and the banks share the beam:
        the best of each goes on, then the second best, until the beam is full. It has one place more for each bank but
        one. What is required is tried behind every hypothesis besides its likeliest words. One may end when it has all,
        and a sentence is done when `size` of the likely ones have, as with `stop: full`. Where none does within the
        limit, which has room for all, the answer is what has most of it, unfinished. `n_best` stands in for that of
        the beam. `early`: a sentence with terms is also done when as many likely ones have ended as the beam has n
        best, and no unfinished one that has all terms has a better score so far than the worst of those.
        """
        other = copy.copy(self)
        other.requirements, other.stop = requirements, "full"
        other.n_best, other.enough = n_best or self.n_best, self.n_best if early else 0
        other.width = max(map(other.width_of, requirements.of.values()), default=self.width)
        return other

    def traced(self, trace: SearchTrace) -> "BeamSearch":
        """Search step by step; the trace records for each step as many dropped words as kept ones."""
        other = copy.copy(self)
        other.trace = trace
        return other

    def as_beam(self) -> "BeamSearch":
        return self

    def norm(self, lengths: Any) -> Any:
        return ((5.0 + lengths) / 6.0 if self.gnmt else lengths * 1.0) ** self.length_penalty

    def width_of(self, requirement: Requirement) -> int:
        """Hypotheses of an example of which this is required."""
        return min(self.size + _banks(requirement) - 1, WIDEST_BEAM)

    def _limits(self, writer: Writer, batch: Batch, wanted: Sequence[Requirement]) -> Array:
        """(examples,) most ids of each target."""
        sizes = (one.size - len(self.first) for one in wanted)
        needed = np.array([size + self.max_extra if size else 0 for size in sizes], np.int64)
        limits, most = np.maximum(self.limits(writer, batch).numpy(force=True), needed), writer.longest(batch)
        return limits if most is None else limits.clip(max=max(1, most))


class _Choices(NamedTuple):
    """Words that may be written next, each behind a row."""

    rows: Array
    words: Array
    scores: Array  # with what features add
    log_probs: Array
    tried: Array  # it is none of the likeliest: it has to bring a term on


class _Terms:
    """Required phrases of the targets of a batch, in arrays of a row for each example."""

    def __init__(self, search: BeamSearch, wanted: Sequence[Requirement], longest: int) -> None:
        self.tracker, self.enough = PhraseTracker(wanted, search.requirements.parts_words), search.enough
        self.free = len(search.first)
        self.banks = np.array([_banks(one) for one in wanted], np.int64)
        self.widths = np.array([search.width_of(one) for one in wanted], np.int64)
        end = np.full((len(wanted), 1), EOS)  # few rows have all, and may end: it is always tried
        self.tried = np.sort(np.concatenate([self.tracker.words, end], axis=1), axis=1)
        self.prefixes = np.full((len(wanted), longest), -1)
        for number, one in enumerate(wanted):
            self.prefixes[number, : len(one.prefix)] = one.prefix[:longest]

    def required(self) -> Required:
        """The same for compiled code."""
        tracker, (_, nodes, met) = self.tracker, self.tracker.start()
        automata = tracker.next, tracker.left, tracker.open, tracker.whole, tracker.parts_words
        terms = tracker.needed, tracker.sizes, tracker.totals, tracker.words
        return Required(
            self.enough, self.free, *terms, *automata, nodes, met, self.tried, self.prefixes, self.banks, self.widths
        )

    def tried_words(self, examples: Array, place: int) -> tuple[Array, Array]:
        """(rows, some) words to try, -1: none, and (rows, 1) whether the last is of a prefix, so that it is the only
        one."""
        prefix = self.prefixes[examples, place, None]
        tried, forced = self.tried[examples], prefix >= 0
        return np.where(forced, np.where(np.arange(tried.shape[1]) < tried.shape[1] - 1, -1, prefix), tried), forced

    def read(self, before: PhraseProgress, choices: _Choices) -> tuple[PhraseProgress, Array, Array]:
        """Write the words: what each choice has then, whether it may stand, and its bank."""
        progress = self.tracker.read(before.select(choices.rows), choices.words)
        remaining, ends = self.tracker.remaining(progress), choices.words == EOS
        fit = ~choices.tried | ends | (remaining < self.tracker.remaining(before)[choices.rows])
        fit &= ~ends | self.tracker.complete(progress)
        totals = np.maximum(self.tracker.totals, 1)[progress.examples]
        return progress, fit, (totals - remaining) * (self.banks[progress.examples] - 1) // totals


class _Beams:
    """The hypotheses that are being written, a row each, those of an example one after the other.

    Arrays on the CPU, whatever the model runs on: numpy's calls on a few numbers are quicker than torch's.
    """

    def __init__(self, search: BeamSearch, limits: Array, terms: _Terms | None) -> None:
        count, longest = len(limits), int(limits.max(initial=0))
        self.search, self.limits, self.terms = search, limits, terms
        self.widths = np.full(count, search.size) if terms is None else terms.widths
        self.examples = np.arange(count)
        self.progress = None if terms is None else terms.tracker.start()
        self.sums = np.zeros(count)
        self.ids, self.log_probs = np.full((count, longest), EOS), np.zeros((count, longest))
        self.ended = np.zeros(count, np.int64)  # likely hypotheses that have
        self.bar = np.full(count, _NO_SCORE)  # n-th best finished score
        self.length = 0
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]

    def choices(self, guided: Guided) -> _Choices:
        """The likeliest words of each row, and EOS, or the words of its terms and the next one of its prefix."""
        each = self.widths[self.examples, None] * (1 if self.search.trace is None else 2) + 1  # one more than go on
        if self.terms is None:
            best, tried, forced = guided.best(int(each.max())), np.full((len(each), 1), EOS), np.zeros_like(each, bool)
        else:
            tried, forced = self.terms.tried_words(self.examples, self.length)
            best = guided.best(int(each.max()), tried.clip(0))
        words, scores = best.words.numpy(force=True), _numbers(best.scores)
        count = words.shape[1] - tried.shape[1]
        near = (np.arange(count) < each) & ~forced  # whatever its batch mates have
        known = ((tried[:, :, None] == words[:, None, :count]) & near[:, None, :]).any(axis=-1)
        given = np.concatenate([near, (tried >= 0) & ~known], axis=1) & (scores > _NO_SCORE)
        rows, places = given.nonzero()
        tried = (places >= count) & ~forced[rows, 0]
        log_probs = _numbers(best.log_probs)
        if self.terms is not None and self.length < self.terms.free:
            scores = np.where(forced, 0.0, scores)
        return _Choices(rows, words[rows, places], scores[rows, places], log_probs[rows, places], tried)

    def grow(self, choices: _Choices, ending: Tensor | float) -> tuple[Array, Array]:
        """One word more: what has all may end, the best of each bank go on → words and the rows they follow."""
        self.length += 1
        ends, examples, progress = choices.words == EOS, self.examples[choices.rows], None
        fit, banks = np.ones_like(ends), np.zeros_like(examples)
        if self.terms is not None and self.progress is not None:
            progress, fit, banks = self.terms.read(self.progress, choices)
        sums, last = self.sums[choices.rows] + choices.scores, (self.limits == self.length)[examples]
        fit &= self._may_go_on(last, ends, fit, examples)
        sums = np.where(last & ends & (self.search.at_limit == "free"), self.sums[choices.rows], sums)
        places = fit.nonzero()[0]
        keys = (-sums, examples) if self.terms is None else (-sums, -banks, examples)  # the last one counts first
        ranked = places[np.lexsort([key[places] for key in keys])]
        self._finish(choices, ranked, banks[ranked], sums, ending)
        cut = last & (self.search.at_limit == "cut")
        order = self._share_out(ranked[~(ends | cut)[ranked]], examples, banks)
        if self.search.trace is not None:
            self._tell(self.search.trace, choices, sums, ranked, order)
        self._give_up(np.setdiff1d(self.examples, examples[order]), self.length - 1)
        words, rows = choices.words[order], choices.rows[order]
        self.examples, self.sums, self.progress = examples[order], sums[order], progress and progress.select(order)
        self.ids, self.log_probs = self.ids[rows], self.log_probs[rows]
        self.ids[:, self.length - 1], self.log_probs[:, self.length - 1] = words, choices.log_probs[order]
        return words, rows

    def keep(self, open_ended: bool, dropped: Array | None) -> Array:
        """Drops the examples that are done, or nobody wants; which rows stay (kept,)."""
        done = self.limits <= self.length
        if dropped is not None:
            done |= dropped
        self._give_up(np.unique(self.examples[done[self.examples]]), self.length)
        done |= self._done(open_ended)
        kept: Array = (~done)[self.examples].nonzero()[0]
        if len(kept) < len(self.examples):
            self.examples, self.sums = self.examples[kept], self.sums[kept]
            self.progress = self.progress and self.progress.select(kept)
            self.ids, self.log_probs = self.ids[kept], self.log_probs[kept]
        return kept

    def _share_out(self, order: Array, examples: Array, banks: Array) -> Array:
        """Of what does not end, the best of each bank, then the second best, until the beam of its example is full."""
        if self.terms is not None:
            ranks = _ranks(examples[order], banks[order])
            order = order[np.lexsort((np.arange(len(order)), ranks, examples[order]))]
        found: Array = order[_ranks(examples[order]) < self.widths[examples[order]]]
        return found

    def _may_go_on(self, last: Array, ends: Array, fit: Array, examples: Array) -> Array:
        """(choices,) at the limit whether it ends; before it, and where nothing can end or is cut off, all may."""
        closed = np.zeros(len(self.limits), np.bool_)
        closed[examples[fit & ends]] = self.search.at_limit != "cut"
        return ends | ~(closed[examples] & last)

    def _done(self, open_ended: bool) -> Array:
        """(examples,) whether the search of each stops."""
        if self.search.stop == "exact":
            return self._beaten() & (not open_ended)
        return self._full() if self.search.stop == "full" else self._best_full()

    def _best_full(self) -> Array:
        """(examples,) whether `size` have ended, and the best row is no better so far than the worst of them."""
        full: Array = self.ended >= self.search.size
        best = np.full(len(full), _NO_SCORE)
        np.maximum.at(best, self.examples, self.sums)
        for example in full.nonzero()[0].tolist():
            worst = self._worst_of(example, self.search.size)
            full[example] = best[example] / self.search.norm(self.length) <= worst
        return full

    def _beaten(self) -> Array:
        """(examples,) whether not even the best row can beat what has ended: all ends between are no better."""
        best = np.full(len(self.limits), _NO_SCORE)
        np.maximum.at(best, self.examples, self.sums)
        soon, late = self.search.norm(self.length + 1), self.search.norm(self.limits)
        beaten: Array = np.maximum(best / soon, best / late) <= self.bar
        return beaten

    def _full(self) -> Array:
        """(examples,) whether `size` likely ones have ended, or, with terms, `enough`, and no row that has all terms
        has a better score so far than the worst of the best of them."""
        full: Array = self.ended >= self.search.size
        if self.terms is None or self.progress is None or not self.search.enough:
            return full
        enough = (self.ended >= self.search.enough) & (self.terms.tracker.totals > 0)
        sums = np.full(len(enough), _NO_SCORE)
        whole = self.terms.tracker.remaining(self.progress) == 0
        np.maximum.at(sums, self.examples[whole], self.sums[whole])
        for example in enough.nonzero()[0].tolist():
            worst = self._worst_of(example, self.search.enough)
            enough[example] = sums[example] / self.search.norm(self.length) <= worst
        return full | enough

    def _worst_of(self, example: int, count: int) -> float:
        """The score of the worst of the `count` best that have ended."""
        return sorted((one.score for one in self.finished[example]), reverse=True)[count - 1]

    def _finish(self, choices: _Choices, ranked: Array, banks: Array, sums: Array, ending: Tensor | float) -> None:
        """Notes the hypotheses that end here: what is likely, and the best of what has terms; in an exact search those
        that beat what is known."""
        examples = self.examples[choices.rows[ranked]]
        ends = choices.words[ranked] == EOS
        closing = ends | ((self.limits == self.length)[examples] & (self.search.at_limit == "cut"))
        ended = ranked[closing]
        likely, examples = _ranks(examples, banks)[closing] < self.search.size, examples[closing]
        self.ended += np.bincount(examples[likely], minlength=len(self.ended))
        added = _numbers(ending) if isinstance(ending, Tensor) else np.full(len(self.sums), ending)
        rows = choices.rows[ended]
        scores = sums[ended] / self.search.norm(self.length) + added[rows]
        exact = self.search.stop == "exact"
        if exact:
            likely &= scores > self.bar[examples]
        elif self.terms is not None:
            likely |= (_ranks(examples) == 0) & (self.terms.tracker.totals[examples] > 0)
        for place in likely.nonzero()[0].tolist():
            row, example = int(rows[place]), int(examples[place])
            each = [*self.log_probs[row, : self.length - 1].tolist(), float(choices.log_probs[ended[place]])]
            ids, limit = self.ids[row, : self.length - 1].tolist(), int(self.limits[example])
            word, score = int(choices.words[ended[place]]), float(scores[place])
            cut = Hypothesis([*ids, word], score, each, False)
            self.finished[example].append(cut if word != EOS else Hypothesis.ended(ids, score, each, limit))
            if exact and len(self.finished[example]) >= self.search.n_best:
                self.bar[example] = self._worst_of(example, self.search.n_best)

    def _tell(self, trace: SearchTrace, choices: _Choices, sums: Array, ranked: Array, order: Array) -> None:
        """A trace the choices of each example, the best first, and which of them go on."""
        firsts = self.examples.searchsorted(self.examples)  # the first row of the example of each
        kept = sums, choices.words, choices.rows - firsts[choices.rows], choices.log_probs
        examples = self.examples[choices.rows]
        for example in np.unique(self.examples).tolist():
            mine = ranked[examples[ranked] == example]
            places = {one: place for place, one in enumerate(mine.tolist())}
            going = [places[one] for one in order[examples[order] == example].tolist()]
            trace.step(example, Considered(*(one[mine].tolist() for one in kept)), going, int(self.widths[example]))

    def _give_up(self, examples: Array, length: int) -> None:
        """An example that none of the hypotheses has ended of is answered by the best of them, unfinished; with terms
        by the one that has most."""
        if not any(not self.finished[example] for example in examples.tolist()):
            return
        has_all = np.zeros(len(self.sums), np.int64)
        remaining = (
            has_all if self.terms is None or self.progress is None else self.terms.tracker.remaining(self.progress)
        )
        for example in examples.tolist():
            if self.finished[example]:
                continue
            rows = (self.examples == example).nonzero()[0]
            best = rows[np.lexsort((-self.sums[rows], remaining[rows]))][
                : self.search.n_best if self.terms is None else 1
            ]
            for row in best.tolist():
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


def _numbers(values: Tensor) -> Array:
    """Return float64 on the CPU: numpy knows no bfloat16, and some devices know no float64."""
    return values.detach().cpu().double().numpy()
