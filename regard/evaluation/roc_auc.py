"""Area under the ROC curve: how well probabilities rank the examples of a label before the others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.evaluation.f1 import classes_of
from regard.evaluation.log_loss import ProbabilityMetric, right_label
from regard.evaluation.metric import Corpus, Statistics
from regard.text.label_sets import positive_label

_EACH = 5  # statistics of a label


class RocAuc(ProbabilityMetric):
    """100 · P(score of a positive > score of a negative), ties half; of several labels the mean, one against the rest.

    The labels are those of the references; of two, the second in alphabetical order is positive, as in scikit-learn.
    A resampled figure is the sum of the mean placements of its positives among all negatives, and of its negatives
    among all positives (DeLong, https://doi.org/10.2307/2531595), less the figure of all examples: equal to the area
    of all examples, and to first order to that of a sample, at a cost linear in the examples.
    """

    aliases = "auc, auroc"
    name = "ROC AUC"

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 5 · labels): placement of a positive, 1 if positive, of a negative, 1 if negative, area."""
        chances = self.probabilities(corpus)
        right = np.array([right_label(several) for several in corpus.references])
        columns = [
            _placements(np.array([one.get(label, 0.0) for one in chances]), right == label)
            for label in _positives(corpus)
        ]
        return np.concatenate(columns, axis=1)

    def value(self, sums: Statistics) -> float:
        above, positives, below, negatives, areas = sums.reshape(-1, _EACH).T
        area = areas / np.maximum(positives + negatives, 1.0)
        ours, theirs = (
            np.divide(found, count, out=area.copy(), where=count > 0)
            for found, count in ((above, positives), (below, negatives))
        )
        return float(100 * np.mean(np.clip(ours + theirs - area, 0.0, 1.0)))

    def check(self, references: Sequence[str]) -> None:
        """Raise RegardError where all references are of one label."""
        labels = {label.strip() for label in references}
        if len(labels) < 2:
            found = ", ".join(f"'{label:.40}'" for label in labels)
            raise RegardError(f"evaluation: {self.name} ranks two labels or more, and the references have only {found}")

    def signature(self, corpus: Corpus) -> str:
        return f"labels:{len(classes_of(corpus))}|average:macro, one against the rest"


def _positives(corpus: Corpus) -> list[str]:
    labels = [*classes_of(corpus)]
    positive = positive_label(labels)
    return labels if positive is None else [positive]


def _placements(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> Statistics:
    """(example, 5) of one label: shares of the other examples that a score is above, or below; ties count half."""
    found = np.zeros((len(scores), _EACH))
    for own, column, sign in ((positive, 0, 1), (~positive, 2, -1)):
        others = np.sort(sign * scores[~own])
        ranks = (np.searchsorted(others, sign * scores[own], side) for side in ("left", "right"))
        found[own, column] = sum(ranks) / (2 * max(1, len(others)))
        found[own, column + 1] = 1
    found[:, 4] = found[positive, 0].mean() if positive.any() else 0.0
    return found
