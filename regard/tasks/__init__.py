"""What a model is trained for. One file a row."""

from regard.registry import Registry
from regard.tasks.task import Task, Texts
from regard.tasks.translation import TranslationTask

TASKS: Registry[Task] = Registry(
    "task",
    {
        "translation": TranslationTask,
    },
)

__all__ = ["TASKS", "Task", "Texts", "TranslationTask"]
