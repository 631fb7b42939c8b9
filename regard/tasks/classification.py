"""Classification: one label of a closed set for a text."""

from collections.abc import Mapping
from typing import ClassVar

from regard.models.classifier import LABEL, TEXT
from regard.tasks.label_task import LabelTask
from regard.tasks.task import Wording


class ClassificationTask(LabelTask):
    """A text → one label."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", LABEL: "label"}
    model = "classifier"
    wording = Wording("texts", "words of the text", "classify texts")
