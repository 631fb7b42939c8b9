"""Sampling from the model's distribution, each sentence from its own stream of random numbers."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Count, Positive, Seed
from regard.config.common_settings import MaxExtra, MaxRatio, MinLength
from regard.decoding.features.feature import Feature
from regard.decoding.search import WIDEST_BEAM, Guided, Hypothesis, Search
from regard.ops.topk import top
from regard.records import EOS, Batch, Sequences, Writer

CROWDED = 0.8  # rows are dropped when no more than this share of them still writes: each drop copies the state


class SamplingSearch(Search):
    """Ancestral sampling at a temperature, from the `top_k` likeliest words (0: all) or the smallest set of words that
    together has probability `top_p` (nucleus, https://arxiv.org/abs/1904.09751).

    Samples depend on (seed, source ids, sample, step): neither batch mates nor the order of sentences matter. `n_best`
    texts are sampled and ranked by the sum of the log-probabilities that the model itself gives. One that reaches the
    limit is cut off without an end, so that its frequency is that of its log-probability.
    """

    def __init__(
        self,
        *,
        temperature: Annotated[
            Positive, Doc("Sampling temperature: below 1 sharpens the distribution, above 1 flattens it.")
        ] = 1.0,
        top_k: Annotated[Count, Doc("Top-k sampling: number of most probable pieces to sample from; 0: all.")] = 0,
        top_p: Annotated[float, Gt(0), Le(1), Doc("Nucleus (top-p) sampling: probability mass to sample from.")] = 1.0,
        n_best: Annotated[int, Ge(1), Le(WIDEST_BEAM), Doc("N-best size: translations per text, best first.")] = 1,
        seed: Annotated[Seed, Doc("Random seed of the samples.")] = 1,
        max_ratio: MaxRatio = 2.0,
        max_extra: MaxExtra = 10,
        min_length: MinLength = 0,
    ) -> None:
        super().__init__(max_ratio, max_extra, min_length)
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.n_best, self.seed = n_best, seed
        self.width = n_best

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        guided = Guided(writer, features, batch, self.min_length)
        count = len(batch.lines)
        rows = torch.arange(count, device=batch.lines.device).repeat_interleave(self.n_best)
        if self.n_best > 1:
            guided.repeat(rows)
        seeds = [_stream(self.seed, ids, sample) for ids in _sources(batch) for sample in range(self.n_best)]
        draws = _Draws(self, seeds)
        lines = batch.lines[rows]
        limits = self.limits(writer, batch)[rows]
        drawn = _write_down(guided, limits, draws, lambda rows: self.dropped(lines[rows]))
        groups = [drawn[first : first + self.n_best] for first in range(0, len(drawn), self.n_best)]
        return [sorted(group, key=lambda one: -one.score) for group in groups]

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (rows, vocab) → the distribution to sample from, in float64."""
        sure = (scores.double() / self.temperature).softmax(dim=-1)
        if self.top_k:
            found, places = top(sure, self.top_k)
            sure = torch.zeros_like(sure).scatter(-1, places, found)
        if self.top_p < 1.0:
            ranked, order = sure.sort(dim=-1, descending=True, stable=True)
            before = ranked.cumsum(dim=-1) - ranked
            sure = sure.masked_fill(
                torch.zeros_like(sure, dtype=torch.bool).scatter(
                    -1, order, before >= self.top_p * ranked.sum(dim=-1, keepdim=True)
                ),
                0.0,
            )
        return sure


class _Draws:
    """A stream of uniform numbers for each row."""

    def __init__(self, search: SamplingSearch, seeds: list[int]) -> None:
        self.search = search
        self.seeds = np.array(seeds, np.uint64)

    def choose(self, guided: Guided, rows: Tensor, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """One word (rows,) for each row, its score and log-probability: by inverted cumulative sums."""
        totals, plain = guided.step()
        sums = self.search.probabilities(totals).cumsum(dim=-1)
        uniform = torch.from_numpy(uniforms(self.seeds[rows.cpu().numpy()], step)).to(sums.device)
        found = torch.searchsorted(sums, (uniform * sums[:, -1]).unsqueeze(-1), right=True).squeeze(-1)
        last = (sums < sums[:, -1:]).sum(dim=-1)  # rounding must not lead beyond the last word that has a chance
        words = torch.minimum(found, last).unsqueeze(-1)
        return words.squeeze(-1), totals.gather(-1, words).squeeze(-1), plain.gather(-1, words).squeeze(-1)


def _write_down(
    guided: Guided, limits: Tensor, draws: _Draws, dropped: Callable[[Tensor], Tensor | None]
) -> list[Hypothesis]:
    """Sample each row until EOS or its limit (rows,); finished rows are dropped in bunches.

    `dropped` gets rows and returns which of them are written no further, None for none.
    """
    limits = limits.clone()
    count, longest = len(limits), int(limits.max()) if len(limits) else 0
    ids = torch.full((count, longest), EOS, device=limits.device)
    log_probs = torch.zeros(count, longest, dtype=torch.float64, device=limits.device)
    scores = torch.zeros(count, dtype=torch.float64, device=limits.device)
    rows, writing = torch.arange(count, device=limits.device), torch.ones(count, dtype=torch.bool, device=limits.device)
    for place in range(longest):
        chosen, added, each = draws.choose(guided, rows, place)
        live = rows[writing]
        ids[live, place] = chosen[writing]
        log_probs[live, place] = each[writing].double()
        scores[live] += added[writing].double()
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


def uniforms(
    seeds: "np.ndarray[tuple[int], np.dtype[np.uint64]]", step: int
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The number at `step` of each stream, in [0, 1): splitmix64 of seed and step."""
    with np.errstate(over="ignore"):
        mixed = seeds + np.uint64(step + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _stream(seed: int, source: list[int], sample: int) -> int:
    text = f"{seed} {sample} {source}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _sources(batch: Batch) -> list[list[int]]:
    """The ids of each source, or prompt; a batch without either has its line numbers to distinguish rows."""
    column = batch.columns.get("source", batch.columns.get("text"))
    if not isinstance(column, Sequences):
        return [[line] for line in batch.lines.tolist()]
    return [ids[mask].tolist() for ids, mask in zip(column.items, column.mask, strict=True)]
