"""Shared code of figures of the probabilities of labels."""

from abc import ABC
from collections.abc import Mapping, Sequence

from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric


class ProbabilityMetric(Metric, ABC):
    """A figure of the probability of every label. Answers without probabilities, as of a file, have none."""

    answer_kind = "label"

    def probabilities(self, corpus: Corpus) -> Sequence[Mapping[str, float]]:
        """Return the probability of each label, example by example. Raises RegardError where there are none."""
        found = corpus.probabilities or ()
        if len(found) != len(corpus.hypotheses) or not all(found):
            problem = f"{self.name} needs the probability of every label, and these answers are labels alone"
            raise RegardError(f"evaluation: {problem}; give a run, or leave it out of evaluation.metrics")
        return found

    def signature(self, corpus: Corpus) -> str:
        return "labels:of the model"


def right_label(several: Sequence[str]) -> str:
    """Return the label of the reference."""
    return several[0].strip()
