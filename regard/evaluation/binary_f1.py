"""F1 of one label: of a class that is looked for, such as spam, among others that are not."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric, Statistics


class BinaryF1(Metric):
    """100 · 2 · right / (given + wanted) of one label, which is 2PR / (P + R).

    Without `label` the second of two in alphabetical order, which is also the one that `decoding.threshold` decides on
    and the positive one of `roc_auc`.
    """

    name = "F1 of a label"
    answer_kind = "label"

    def __init__(
        self, *, label: Annotated[str, Doc('Label; "": the second of two, in alphabetical order.')] = ""
    ) -> None:
        self.label = label

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 3): whether it is rightly given the label, is given it, and is of it."""
        label = self._label([several[0] for several in corpus.references])
        given = np.array([one.strip() == label for one in corpus.hypotheses])
        wanted = np.array([several[0].strip() == label for several in corpus.references])
        return np.stack([given & wanted, given, wanted], axis=1).astype(np.float64)

    def value(self, sums: Statistics) -> float:
        right, given, wanted = sums.tolist()
        return 200 * right / max(1.0, given + wanted)

    def signature(self, corpus: Corpus) -> str:
        return f"label:{self._label([several[0] for several in corpus.references])}"

    def check(self, references: Sequence[str]) -> None:
        """Raise RegardError for a label that no reference has, and without one where there are not two."""
        known = sorted({one.strip() for one in references})
        label = self._label(references)
        if label not in known or (not self.label and len(known) != 2):
            problem = f"is of '{label}', and the references have {len(known)} labels, as '{known[0]:.40}'"
            raise RegardError(
                f"evaluation: {self.name} {problem}; evaluation.metrics={{name: binary_f1, label: LABEL}}"
            )

    def _label(self, references: Sequence[str]) -> str:
        return self.label.strip() or sorted({one.strip() for one in references})[:2][-1]
