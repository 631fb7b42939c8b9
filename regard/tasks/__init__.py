"""What a model is trained for. One file a row."""

from regard.registry import Registry
from regard.tasks.language_model import LanguageModelTask
from regard.tasks.task import Task, Texts
from regard.tasks.translation import TranslationTask

TASKS: Registry[Task] = Registry(
    "task",
    {
        "language_model": LanguageModelTask,
        "translation": TranslationTask,
    },
)

__all__ = ["TASKS", "LanguageModelTask", "Task", "Texts", "TranslationTask"]
