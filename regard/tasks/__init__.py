"""Tasks: the kinds of problems that a model is trained for. One file a row."""

from typing import cast

from regard.registry import Registry
from regard.tasks.algorithmic import AlgorithmicTask
from regard.tasks.captioning import CaptioningTask
from regard.tasks.cipher import CipherTask
from regard.tasks.classification import ClassificationTask
from regard.tasks.deliberation import DeliberationTask
from regard.tasks.document_vectors import DocumentVectorsTask
from regard.tasks.examples import Examples
from regard.tasks.language_model import LanguageModelTask
from regard.tasks.masked_language_model import MaskedLanguageModelTask
from regard.tasks.measures import Measure, Outcome
from regard.tasks.multi_label import MultiLabelTask
from regard.tasks.next_sentence import NextSentenceTask
from regard.tasks.pairs import PairsTask
from regard.tasks.phrases import PhrasesTask
from regard.tasks.question_answering import QuestionAnsweringTask
from regard.tasks.reading import ReadingTask
from regard.tasks.regression import PairRegressionTask, RegressionTask
from regard.tasks.spec import Wording
from regard.tasks.tagging import TaggingTask
from regard.tasks.task import Task
from regard.tasks.translation import TranslationTask
from regard.tasks.unpaired_translation import UnpairedTranslationTask
from regard.tasks.word_vectors import WordVectorsTask

TASKS: Registry[Task] = Registry(
    "task",
    {
        "algorithmic": AlgorithmicTask,
        "captioning": CaptioningTask,
        "cipher": CipherTask,
        "classification": ClassificationTask,
        "deliberation": DeliberationTask,
        "document_vectors": DocumentVectorsTask,
        "language_model": LanguageModelTask,
        "masked_language_model": MaskedLanguageModelTask,
        "multi_label": MultiLabelTask,
        "next_sentence": NextSentenceTask,
        "question_answering": QuestionAnsweringTask,
        "pair_regression": PairRegressionTask,
        "pairs": PairsTask,
        "phrases": PhrasesTask,
        "reading": ReadingTask,
        "regression": RegressionTask,
        "tagging": TaggingTask,
        "translation": TranslationTask,
        "unpaired_translation": UnpairedTranslationTask,
        "word_vectors": WordVectorsTask,
    },
)


def task_class(name: str) -> type[Task]:
    """Return the class of a row."""
    return cast(type[Task], TASKS[name])


__all__ = [
    "TASKS",
    "Examples",
    "Measure",
    "Outcome",
    "Task",
    "TranslationTask",
    "Wording",
    "task_class",
]
