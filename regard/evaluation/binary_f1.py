"""F1 of one label: of a class that is looked for, such as spam, among others that are not."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.text.label_sets import positive_label


class BinaryF1(Metric):
    """100 · 2 · right / (given + wanted) of one label, which is 2PR / (P + R).

    Without `label` the positive one of two, as of `decoding.threshold` and `roc_auc`: the second in alphabetical order.
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
        known, label = {one.strip() for one in references}, self.label.strip()
        if label in known or (not label and positive_label(known)):
            return
        first = f"{min(known):.40}"
        problem = (
            f"no reference has its label '{label:.40}'; they have" if label else "needs its label: the references have"
        )
        hint = f"evaluation.metrics={{name: binary_f1, label: {first}}}"
        raise RegardError(f"evaluation: binary_f1 {problem} {len(known)}, such as '{first}'; {hint}")

    def _label(self, references: Sequence[str]) -> str:
        known = {one.strip() for one in references}
        return self.label.strip() or positive_label(known) or max(known)
