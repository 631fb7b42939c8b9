"""Beam search with length normalisation, and a stop that is never too early."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.config.common_settings import MaxExtra, MaxRatio, MinLength
from regard.decoding.features.feature import Feature
from regard.decoding.search import WIDEST, Guided, Hypothesis, Likeliest, Search
from regard.records import EOS, Batch, Writer

NEVER = float("-inf")


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
        size: Annotated[int, Ge(1), Le(WIDEST), Doc("Unfinished answers kept for each text.")] = 5,
        n_best: Annotated[int, Ge(1), Le(WIDEST), Doc("Answers kept for each text, the best first.")] = 1,
        length_penalty: Annotated[
            AnyFloat, Doc("How much length is divided out: 0 prefers short answers, 1 is a mean over the pieces.")
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
        self.length_penalty, self.gnmt, self.exact = length_penalty, normalisation == "gnmt", stop == "exact"

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        """The n best of each example."""
        beams = _Beams(self, self.limits(writer, batch))
        guided = Guided(writer, features, batch, self.min_length)
        open_ended = any(feature.rewards for feature in features)
        while len(beams.sentences):
            best = guided.best(self.size + 1)  # one more than go on, since EOS does not
            count = len(best.words)
            words, rows = beams.grow(best, guided.ending())
            kept = beams.keep(open_ended, self.dropped(batch.lines[beams.sentences]))
            words, rows = words[kept].flatten(), rows[kept].flatten()
            if len(rows):
                unmoved = len(rows) == count and torch.equal(rows, torch.arange(len(rows), device=rows.device))
                guided.go_on(words, None if unmoved else rows)
        return [sorted(found, key=lambda one: -one.score)[: self.n_best] for found in beams.finished]

    def norm(self, lengths: Tensor) -> Tensor:
        """What a sum of log-probabilities is divided by."""
        lengths = lengths.double()
        return ((5 + lengths) / 6 if self.gnmt else lengths) ** self.length_penalty


class _Beams:
    """The hypotheses of the sentences that are still being written, each tensor (sentence, beam, …)."""

    def __init__(self, search: BeamSearch, limits: Tensor) -> None:
        self.search, self.limits = search, limits
        count, longest = len(limits), int(limits.max()) if len(limits) else 0
        self.sentences = torch.arange(count, device=limits.device)
        self.sums = torch.zeros(count, 1, dtype=torch.float64, device=limits.device)
        self.ids = torch.full((count, 1, longest), EOS, device=limits.device)
        self.log_probs = torch.zeros(count, 1, longest, dtype=torch.float64, device=limits.device)
        self.bar = torch.full((count,), NEVER, dtype=torch.float64, device=limits.device)  # n-th best finished score
        self.length = 0
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]

    def grow(self, best: Likeliest, ending: Tensor | float) -> tuple[Tensor, Tensor]:
        """One word more: EOS among the best `size` ends a hypothesis, the best `size` others go on.

        The best `size` + 1 words of each row → words and the rows they follow, each (sentence, beam).
        """
        (sentences, width), size = self.sums.shape, self.search.size
        sums = (self.sums.unsqueeze(-1) + best.scores.view(sentences, width, -1)).flatten(1)
        sums, order = sums.sort(dim=-1, descending=True, stable=True)
        words, parents = best.words.view(sentences, -1).gather(1, order), order // best.words.shape[-1]
        log_probs = best.log_probs.view(sentences, -1).gather(1, order).double()
        rows = parents + torch.arange(sentences, device=parents.device).unsqueeze(-1) * width
        self.length += 1
        self._finish(sums[:, :size], words[:, :size], rows[:, :size], log_probs[:, :size], ending)
        others, going = sums.masked_fill(words == EOS, NEVER).sort(dim=-1, descending=True, stable=True)
        self.sums, going = others[:, :size], going[:, :size]
        words, rows = words.gather(1, going), rows.gather(1, going)
        self.ids, self.log_probs = self.ids.flatten(0, 1)[rows], self.log_probs.flatten(0, 1)[rows]
        self.ids[:, :, self.length - 1] = words
        self.log_probs[:, :, self.length - 1] = log_probs.gather(1, going)
        return words, rows

    def keep(self, open_ended: bool, dropped: Tensor | None) -> Tensor:
        """Drops the sentences that are done, or nobody wants; which of them stay (kept,)."""
        at_limit = self.limits <= self.length
        alive = self.sums > NEVER
        best = self.sums[:, 0]
        ends = torch.stack([torch.full_like(self.limits, self.length + 1), self.limits])
        hope = (best / self.search.norm(ends)).amax(dim=0)  # of the best: all ends between are no better
        counts = torch.tensor([len(self.finished[sentence]) for sentence in self.sentences.tolist()])
        if not self.search.exact:
            done = (counts >= self.search.size).to(best.device)
        else:
            done = (hope <= self.bar) & (not open_ended)
        done |= at_limit | ~alive.any(dim=-1)
        if dropped is not None:
            done |= dropped
        self._give_up(done.nonzero().squeeze(-1))
        kept = (~done).nonzero().squeeze(-1)
        if len(kept) < len(done):
            self.sentences, self.limits, self.bar = self.sentences[kept], self.limits[kept], self.bar[kept]
            self.sums, self.ids, self.log_probs = self.sums[kept], self.ids[kept], self.log_probs[kept]
        return kept

    def _finish(self, sums: Tensor, words: Tensor, rows: Tensor, last: Tensor, ending: Tensor | float) -> None:
        """Notes the hypotheses that end here, unless as many better ones are known."""
        scores = sums / self.search.norm(torch.tensor(self.length, device=sums.device))
        scores = (
            scores + torch.as_tensor(ending, dtype=scores.dtype, device=scores.device).expand(self.sums.numel())[rows]
        )
        ends = (words == EOS) & (sums > NEVER)
        if self.search.exact:
            ends &= scores > self.bar.unsqueeze(-1)
        places, beams = ends.nonzero(as_tuple=True)
        if not len(places):
            return
        ended = rows[places, beams]
        log_probs = self.log_probs.flatten(0, 1)[ended, : self.length].clone()
        log_probs[:, -1] = last[places, beams]
        ids = self.ids.flatten(0, 1)[ended, : self.length - 1].tolist()
        found = zip(places.tolist(), ids, scores[places, beams].tolist(), log_probs.tolist(), strict=True)
        for place, written, score, each in found:
            self._note(place, Hypothesis(written, score, each, True))

    def _note(self, place: int, hypothesis: Hypothesis) -> None:
        known = self.finished[int(self.sentences[place])]
        known.append(hypothesis)
        if len(known) >= self.search.n_best:
            self.bar[place] = sorted((one.score for one in known), reverse=True)[self.search.n_best - 1]

    def _give_up(self, places: Tensor) -> None:
        """A sentence whose limit came before enough ends is answered by what was written of it."""
        for place in places.tolist():
            known = self.finished[int(self.sentences[place])]
            norm = float(self.search.norm(torch.tensor(self.length)))
            for beam in range(min(self.search.n_best, self.sums.shape[1])):
                if known and (known[0].finished or float(self.sums[place, beam]) == NEVER):
                    break
                ids, each = self.ids[place, beam, : self.length], self.log_probs[place, beam, : self.length]
                known.append(Hypothesis(ids.tolist(), float(self.sums[place, beam]) / norm, each.tolist(), False))
