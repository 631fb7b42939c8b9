"""Decoding engines: the native search over a model, or an external program."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from regard.decoding.features.feature import Feature
from regard.decoding.search import Hypothesis, Search
from regard.decoding.shortlist import Shortlist, ShortlistedWriter
from regard.models import Generator, Model
from regard.records import BOS, EOS, Batch, Writer


class Engine(Protocol):
    """Batches in, ranked hypotheses out."""

    @property
    def width(self) -> int:
        """Rows worked on at once for each example: batches hold fewer examples the more there are."""

    @property
    def max_source(self) -> int | None:
        """Most ids of a source, EOS included; None: any number."""

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Return the hypotheses of each example, best first, at least one."""


MODEL_TERM = "model"  # the share of a score that is none of a feature
Answering = Model | Engine  # a model that answers by itself, or what searches with one


class SearchEngine:
    """A search over a writer: the native engine."""

    def __init__(
        self, writer: Generator, search: Search, features: Sequence[Feature] = (), shortlist: Shortlist | None = None
    ) -> None:
        self.writer, self.search, self.features, self.shortlist = writer, search, tuple(features), shortlist

    @property
    def width(self) -> int:
        """Hypotheses or samples of an example at once."""
        return self.search.width

    @property
    def max_source(self) -> int | None:
        """That of the writer."""
        return self.writer.max_source

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Search."""
        writer = self.writer if self.shortlist is None else ShortlistedWriter(self.writer, self.shortlist)
        found = self.search.run(writer, batch, features=self.features)
        return with_contributions(writer, self.search, self.features, batch, found) if self.features else found


class Summed(NamedTuple):
    """Scores that a feature adds to hypotheses: (rows,) each, in float64."""

    steps: Tensor  # to their words, summed
    ends: Tensor  # to those that end, at the end


def with_contributions(
    writer: Writer, search: Search, features: Sequence[Feature], batch: Batch, found: Sequence[Sequence[Hypothesis]]
) -> list[list[Hypothesis]]:
    """Return the hypotheses (example, rank) that a search has found, each with the shares of its score.

    Those of one feature are what the model leaves. For several the hypotheses are written once more word by word, since
    a search keeps sums alone. Of equal features the later ones are numbered. The shares sum to the score.
    """
    if len(features) == 1 and search.at_limit != "free":  # a free end is in no sum, and looks like others
        return [[_with_share(search, features[0].name, one) for one in ranked] for ranked in found]
    flat = [one for ranked in found for one in ranked]
    names = list[str]()
    for feature in features:
        count = sum(one.name == feature.name for one in features[: len(names)])
        names.append(f"{feature.name} {count + 1}" if count else feature.name)
    parts = list[list[float]]()
    lengths = torch.tensor([len(one.log_probs) for one in flat], dtype=torch.float64).clamp(min=1)
    for summed in feature_sums(writer, features, batch, found):
        parts.append((summed.steps.cpu() / search.norm(lengths) + summed.ends.cpu()).tolist())
    explained = iter(
        one._replace(shares={MODEL_TERM: one.score - sum(mine), **dict(zip(names, mine, strict=True))})
        for one, mine in zip(flat, zip(*parts, strict=True), strict=True)
    )
    return [[next(explained) for _ in ranked] for ranked in found]


def _with_share(search: Search, feature: str, one: Hypothesis) -> Hypothesis:
    """Return a hypothesis with the shares of the model and of its only feature."""
    model = math.fsum(one.log_probs[len(search.first) :]) / float(search.norm(max(len(one.log_probs), 1)))
    return one._replace(shares={MODEL_TERM: model, feature: one.score - model})


def feature_sums(
    writer: Writer, features: Sequence[Feature], batch: Batch, found: Sequence[Sequence[Hypothesis]]
) -> list[Summed]:
    """Return what each feature adds to the hypotheses (example, rank), flat."""
    rows = torch.tensor([place for place, ranked in enumerate(found) for _ in ranked], dtype=torch.long)
    rows = rows.to(batch.lines.device)
    ids = _padded([[*one.ids, EOS] if one.has_end else one.ids for ranked in found for one in ranked], rows.device)
    lengths = (ids >= 0).sum(dim=-1)
    ended = torch.tensor([one.has_end for ranked in found for one in ranked], device=rows.device)
    sums = [Summed(*(torch.zeros(len(rows), dtype=torch.float64, device=rows.device) for _ in range(2)))
            for _ in features]  # fmt: skip
    steps = _steps(writer, features, batch, rows, ids)
    for place, (added, guides) in enumerate(steps):
        word, stands = ids[:, place].clamp(min=0), place < lengths
        last = ended & (lengths == place + 1)
        for feature, one, guide, summed in zip(features, added, guides, sums, strict=True):
            mine = one.expand(len(rows), -1).gather(-1, word.clamp(max=one.shape[-1] - 1).unsqueeze(-1)).squeeze(-1)
            summed.steps.add_(mine.double().where(stands, 0.0))
            summed.ends.add_(torch.as_tensor(feature.finish(guide), device=rows.device).double().where(last, 0.0))
    return sums


def _steps(
    writer: Writer, features: Sequence[Feature], batch: Batch, rows: Tensor, ids: Tensor
) -> Iterator[tuple[list[Tensor], list[Any]]]:
    """For each place what each feature adds to all words there, and its state."""
    state: Any = writer.start(batch).select(rows)
    guides: list[Any] = [feature.start(batch).select(rows) for feature in features]
    looks = any(feature.needs_weights for feature in features)
    before = torch.full_like(rows, BOS)
    for place in range(ids.shape[1]):
        step, state = writer.step(before.unsqueeze(-1), state, need_weights=looks)
        steps = [
            feature.step(step, before.unsqueeze(-1), guide) for feature, guide in zip(features, guides, strict=True)
        ]
        guides = [guide for _, guide in steps]
        yield [added for added, _ in steps], guides
        before = ids[:, place].where(ids[:, place] >= 0, EOS)


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """(rows, longest), -1 behind the end."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[-1] * (longest - len(row))] for row in rows], device=device).view(len(rows), longest)
