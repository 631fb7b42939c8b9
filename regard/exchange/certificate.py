"""The certificate of an import or export: a run's texts and probabilities beside those of the format's own program."""

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

import torch
from rapidfuzz.distance import Levenshtein

from regard.data.columns import TextColumn
from regard.decoding import BeamSearch, Search
from regard.errors import RegardError
from regard.exchange.format import Program, digest_of_texts
from regard.predictor import Predictor
from regard.records import BOS, EOS
from regard.results import TextPrediction
from regard.runs.texts import dev_examples

_SAMPLED = (3, 24)  # pieces of a text that is sampled from a vocabulary
_SEED = 1


class TextDifference(NamedTuple):
    """The first text that differs."""

    line: int  # from 1
    source: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.source!r}: {self.ours!r} here, {self.theirs!r} there"


class Certificate(NamedTuple):
    """Agreement of a run and a program."""

    program: str | None  # None: not installed, so nothing was compared
    texts: int
    equal: int
    first: TextDifference | None
    gap: float | None  # the largest difference of a log-probability; None: the program has none
    digest: str  # SHA-256 of the texts
    spaces: int = 0  # texts equal but for spaces at their ends
    similarity: float | None = None  # of the texts, on average: 1 - edits / characters of the longer one
    stop: str = ""  # rules by which both searches stopped, where the run has others

    def __str__(self) -> str:
        if self.program is None:
            reason = "since the format's own program is not installed" if self.texts else "as no texts were given"
            return f"certificate: not compared, {reason}"
        gap = "" if self.gap is None else f"; largest gap of a log-probability: {self.gap:.1e}"
        first = "" if self.first is None else f"; first difference: {self.first}"
        spaces = f" ({self.spaces:,} but for spaces at their ends)" if self.spaces else ""
        stop = f" with {self.stop}" if self.stop else ""
        differs = self.similarity is not None and self.equal < self.texts
        alike = f", {int(1000 * (self.similarity or 0)) / 10:g} % of characters" if differs else ""
        same = f"{self.program} translates {self.equal:,} of {self.texts:,} texts as Regard does{stop}{alike}"
        return f"certificate: {same}{spaces}{gap}{first}"

    def line(self, hint: str) -> str:
        """Return it as text, with a hint how to install the program where it is missing."""
        return f"{self} ({hint})" if hint and self.texts and not self.program else str(self)

    def values(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self._asdict(), "first": None if self.first is None else self.first._asdict()}


def certify(
    predictor: Predictor, program: Program | None, texts: Sequence[str], search: Search | None = None
) -> Certificate:
    """Compare translations of texts, and the log-probabilities of ours. `search` is that of both; None: the run's."""
    digest = digest_of_texts(texts)
    if program is None:
        return Certificate(None, len(texts), 0, None, None, digest)
    found = [cast(TextPrediction, one) for one in predictor.predict(texts, search=search, safeguards=False)]
    theirs, ours = program.translate(texts), [one.text for one in found]
    pairs = [(one.strip(), other.strip()) for one, other in zip(ours, theirs, strict=True)]  # as their tokenizers do
    places = [place for place, (one, other) in enumerate(pairs) if one != other]
    spaces = sum(one != other for one, other in zip(ours, theirs, strict=True)) - len(places)
    first = [TextDifference(place + 1, texts[place], ours[place], theirs[place]) for place in places[:1]]
    gap = _gap(predictor, program, texts, [one.ids or [] for one in found])
    equal, difference = len(texts) - len(places), first[0] if first else None
    own, rules = _stops(predictor.setup.search), [] if search is None else _stops(search)
    stop = ", ".join(rule for rule in rules if rule not in own)
    similarity = sum(Levenshtein.normalized_similarity(*pair) for pair in pairs) / len(pairs) if pairs else None
    return Certificate(program.name, len(texts), equal, difference, gap, digest, spaces, similarity, stop)


def _stops(search: Search) -> list[str]:
    """Return the rules by which a search stops: that of a beam, and a limit that is the same for all texts."""
    found = list[str]()
    if isinstance(search, BeamSearch):
        found.append(f"stop: {search.stop}")
    if not search.max_ratio:
        found.append(f"at most {search.max_extra:,} pieces")
    return found


def source_texts(predictor: Predictor, count: int, given: Sequence[str] = ()) -> list[str]:
    """Return the first given texts, else sources of the run's dev set, or texts made of pieces where it has none."""
    if not any(map(str.strip, given)):
        with suppress(RegardError, OSError):  # its files are gone, or it was imported
            given = (dev_examples(predictor.run.experiment, predictor.task, lambda line: None) or {}).get("source", ())
    return [text for text in given if text.strip()][:count] or sampled_texts(predictor, count)


def sampled_texts(predictor: Predictor, count: int) -> list[str]:
    """Return texts made of pieces of the source vocabulary, for a model that comes without any; the same each time."""
    column, draws = cast(TextColumn, predictor.task.vocabularies["source"]), random.Random(_SEED)
    found = list[str]()
    while len(found) < count:
        size = draws.randint(*_SAMPLED)
        text = " ".join(column.decode([draws.randrange(EOS + 2, len(column)) for _ in range(size)]).split())
        found.append(text or "a")
    return found


@torch.no_grad()
def _gap(
    predictor: Predictor, program: Program, texts: Sequence[str], targets: Sequence[Sequence[int]]
) -> float | None:
    """The largest difference of a log-probability; that of the beginning, which nothing writes, is left out."""
    theirs = program.log_probs(texts, targets)
    if theirs is None:
        return None
    task, worst = predictor.task, 0.0
    sources = task.vocabularies["source"].encode_batch(list(texts))
    for source, target, other in zip(sources, targets, theirs, strict=True):
        batch = task.batch([{"source": source, "target": list(target)}]).to(predictor.model.device)
        mine = predictor.model.distributions(batch).log_probs.float().cpu()
        gaps = (mine - other).abs()
        gaps[:, BOS] = 0.0
        worst = max(worst, float(gaps.max()))
    return worst
