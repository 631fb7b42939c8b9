"""The contract of metrics: one figure for a whole corpus, out of sums over its sentences."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError

Statistics = NDArray[np.float64]
References = Sequence[str] | Sequence[Sequence[str]]


class Corpus(NamedTuple):
    """Input of a metric, sentence by sentence."""

    hypotheses: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]  # one or more for each hypothesis
    sources: tuple[str, ...] | None = None
    scores: tuple[float, ...] | None = None  # log-probability that the system gives to each hypothesis, in nats
    probabilities: tuple[Mapping[str, float], ...] | None = None  # of each label that could be the answer


class Score(NamedTuple):
    """A figure with all that is needed to obtain it again."""

    name: str
    value: float
    signature: str
    higher_is_better: bool | None  # None: neither, as for a length ratio

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


class Measure(Protocol):
    """A figure out of sums of statistics, whatever these are counted in."""

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def higher_is_better(self) -> bool | None:
        """None: neither, as for a length ratio."""

    def value(self, sums: Statistics) -> float:
        """The figure of a corpus with these sums (statistic,)."""


class Metric(ABC):
    """A corpus figure that depends on sums of per-sentence statistics alone, so that it can be resampled quickly."""

    name: ClassVar[str]
    higher_is_better: ClassVar[bool | None] = True
    answer_kind: ClassVar[str] = (
        "text"  # the answers that it is for: "text", "label", "tags" (one a word), "symbols", "span" or "numbers"
    )

    @property
    def rewards_texts(self) -> bool:
        """True for a figure that measures the quality of a written text."""
        return self.answer_kind == "text" and self.higher_is_better is not None

    @abstractmethod
    def statistics(self, corpus: Corpus) -> Statistics:
        """(sentence, statistic); what is summed over the sentences."""

    @abstractmethod
    def value(self, sums: Statistics) -> float:
        """The figure of a corpus with these sums (statistic,)."""

    @abstractmethod
    def signature(self, corpus: Corpus) -> str:
        """All settings that the figure depends on, as `key:value|key:value`."""

    def check(self, references: Sequence[str]) -> None:
        """Raise RegardError for references, one a sentence, that this metric is not made for."""

    def score(self, hypotheses: Sequence[str], references: References, sources: Sequence[str] | None = None) -> Score:
        """The figure of these texts. A sentence's reference is a text, or several of which the nearest counts.

        Raises RegardError when there are no sentences, when counts differ, or when `sources` are needed and missing.
        """
        corpus = corpus_of(hypotheses, references, sources)
        value = self.value(self.statistics(corpus).sum(axis=0))
        return Score(self.name, value, self.signature(corpus), self.higher_is_better)


class Rate(Metric):
    """factor · sum of a count / sum of a total; 0 where there is nothing to count."""

    factor: ClassVar[float] = 100.0

    def value(self, sums: Statistics) -> float:
        count, total = sums.tolist()
        return self.factor * count / total if total else 0.0


class MeanMetric(Rate):
    """factor · the mean of a figure of each sentence; of several references the one that does it best counts."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """[figure, 1] of each sentence."""
        best = max if self.higher_is_better else min
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        return np.array([[best(self.of_one(text, one) for one in several), 1] for text, several in pairs], np.float64)

    @abstractmethod
    def of_one(self, text: str, reference: str) -> float:
        """Return the figure of a hypothesis beside one reference."""


def corpus_of(hypotheses: Sequence[str], references: References, sources: Sequence[str] | None = None) -> Corpus:
    """The texts as one corpus, their counts checked."""
    if len(hypotheses) == 0:
        raise RegardError("evaluation: there are no sentences to score")
    _need_equal("references", len(references), len(hypotheses))
    if sources is not None:
        _need_equal("sources", len(sources), len(hypotheses))
    given = tuple((reference,) if isinstance(reference, str) else tuple(reference) for reference in references)
    for line, several in enumerate(given, start=1):
        if not several:
            raise RegardError(f"evaluation: sentence {line} has no reference")
    return Corpus(tuple(hypotheses), given, None if sources is None else tuple(sources))


def _need_equal(what: str, count: int, hypotheses: int) -> None:
    if count != hypotheses:
        raise RegardError(f"evaluation: {hypotheses} hypotheses but {count} {what}; give one line for each sentence")
