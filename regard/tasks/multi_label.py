"""Classification with several labels a text, or none (https://arxiv.org/abs/1312.5419: binary cross entropy)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from torch import Tensor

from regard.answers.labels import LabelsAnswer, LabelsPrediction
from regard.data.columns.label_set import LabelSetColumn
from regard.decoding import Answering
from regard.models import LabelModel
from regard.records import TEXT, Batch
from regard.results import Prediction
from regard.tasks.classification import ClassificationTask, OneTextTask
from regard.tasks.label_task import UNKNOWN_WORDS, LabelFiles
from regard.tasks.relevance_view import RelevanceView
from regard.text.label_sets import SEVERAL_LABELS


class LabelSetRelevance(RelevanceView):
    """The relevance of words for each label, or for its absence."""

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        labels = cast(LabelSetColumn, self.columns[self.last]).labels
        (given,) = cast(Tensor, batch.columns[self.last]).tolist()
        return [labels[place] if given[place] else f"not {labels[place]}" for place in places]


class MultiLabelTask(OneTextTask):
    """A text → all labels whose probability is above a threshold."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", SEVERAL_LABELS: "label_set"}
    spec = ClassificationTask.spec._replace(
        metric="loss",  # it falls from the start, while no probability is above the threshold
        validates=("labels_f1",),
        relevance=LabelSetRelevance,
        defaults={
            **ClassificationTask.spec.defaults,
            "evaluation": {
                "metrics": ["labels_f1", {"name": "labels_f1", "average": "macro"}, "subset_accuracy", "hamming_loss"]
            },
        },
    )
    answer = LabelsAnswer()
    files = LabelFiles(sets=True)

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the labels of each example, with the probability of every label."""
        chances = cast(LabelModel, model).log_probs(batch).double().sigmoid().tolist()
        labels = cast(LabelSetColumn, self.vocabularies[self.last]).labels
        found: list[Prediction] = []
        for source, unread, row in zip(self._sources(batch), self._unread(batch), chances, strict=True):
            warning = UNKNOWN_WORDS.format(name=unread) if unread else ""
            one = LabelsPrediction(source, "", 0.0, probabilities=dict(zip(labels, row, strict=True)), warning=warning)
            found.append(LabelsAnswer.threshold.decided(one))
        return found
