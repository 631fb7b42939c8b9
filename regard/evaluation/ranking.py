"""Rankings of second texts for the same first text, as of answers to a question (https://aclanthology.org/D15-1237)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric, Statistics

_SHOWN = 3  # labels that an error tells


class RankingMetric(Metric):
    """Mean over the first texts that have a relevant second one; these are ranked by the probability of that label.

    Of second texts with the same probability a relevant one is the last, so that no answer earns by saying nothing.
    Labels without probabilities, as of a file, count as certain.
    """

    answer_kind = "label"

    def __init__(self, *, relevant: Annotated[str, Doc("Label of matching pairs.")] = "1") -> None:
        self.relevant = relevant

    @abstractmethod
    def figure(self, ranks: Sequence[int]) -> float:
        """Return the figure of a ranking from the ranks of what is relevant: from 1, rising, one at least."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 2): the figure of a ranking and 1, at the first example of its first text; else zeros.

        Raises RegardError without the first texts.
        """
        if corpus.sources is None:
            raise RegardError(f"evaluation: {self.name} needs the first texts of the pairs; give them too")
        found = np.zeros((len(corpus.hypotheses), 2))
        probabilities: Sequence[Mapping[str, float]] = corpus.probabilities or [{}] * len(corpus.hypotheses)
        rankings: dict[str, list[tuple[float, bool, int]]] = {}
        for row, (text, given, several) in enumerate(
            zip(corpus.sources, corpus.hypotheses, corpus.references, strict=True)
        ):
            chance = probabilities[row].get(self.relevant, float(given.strip() == self.relevant))
            rankings.setdefault(text, []).append((-chance, several[0].strip() == self.relevant, row))
        for ranking in rankings.values():
            ranks = [rank for rank, (_, relevant, _) in enumerate(sorted(ranking), start=1) if relevant]
            if ranks:
                found[min(row for _, _, row in ranking)] = self.figure(ranks), 1
        return found

    def value(self, sums: Statistics) -> float:
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, corpus: Corpus) -> str:
        return f"relevant:{self.relevant}|first texts:{len(set(corpus.sources or ()))}"

    def check(self, references: Sequence[str]) -> None:
        """Raise RegardError for more labels than two, and where none is the relevant one."""
        labels = {label.strip() for label in references}
        others = sorted(labels - {self.relevant})
        if len(others) > 1 or self.relevant not in labels:
            shown = ", ".join(f"'{label:.40}'" for label in others[:_SHOWN]) + (" …" if len(others) > _SHOWN else "")
            problem = f"ranks by '{self.relevant}' and one other label, and there are {shown}"
            raise RegardError(f"evaluation: {self.name} {problem}; evaluation.metrics={{name: …, relevant: LABEL}}")


class MeanReciprocalRank(RankingMetric):
    """100 · mean over the first texts of 1 / rank of the first relevant second text."""

    name = "MRR"

    def figure(self, ranks: Sequence[int]) -> float:
        """Return 1 / rank of the first."""
        return 1 / ranks[0]


class MeanAveragePrecision(RankingMetric):
    """100 · mean over the first texts of the mean over their relevant second texts of the precision up to each."""

    name = "MAP"

    def figure(self, ranks: Sequence[int]) -> float:
        """Return the mean of: how many are relevant up to a rank / rank."""
        return sum(count / rank for count, rank in enumerate(ranks, start=1)) / len(ranks)
