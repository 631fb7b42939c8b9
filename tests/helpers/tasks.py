"""Tasks, engines and predictors of networks that were built by hand."""

from typing import Any

from regard.data.columns import TextColumn
from regard.decoding import SEARCHES, Answering
from regard.evaluation.metric import Statistics
from regard.models import Model
from regard.predictor import Predictor
from regard.registry import Choice
from regard.results import Prediction
from regard.tasks import Examples, Measure, Outcome, Task, TranslationTask
from regard.tasks.language_model import LanguageModelTask
from regard.text import Tokenizer


def translation_of(source: Tokenizer, target: Tokenizer | None = None) -> TranslationTask:
    """One vocabulary for both sides unless there are two tokenizers."""
    column = TextColumn(source)
    return TranslationTask({"source": column, "target": column if target is None else TextColumn(target)})


def language_model_of(tokenizer: Tokenizer, **settings: Any) -> LanguageModelTask:
    return LanguageModelTask({"text": TextColumn(tokenizer)}, **settings)


def engine_of(model: Model, task: Task, search: str | Choice = "greedy") -> Answering:
    return task.engine(model, SEARCHES.build(Choice(search) if isinstance(search, str) else search))


def predictor_of(model: Model, task: Task, search: str | Choice = "greedy", **settings: Any) -> Predictor:
    return Predictor(model, task, engine_of(model, task, search), **settings)


def statistics_of(measure: Measure, texts: list[str], examples: Examples) -> Statistics:
    """Of answers that somebody gave."""
    answers = [Prediction("", text, 0.0) for text in texts]
    return measure.statistics(Outcome(examples, lambda: answers, lambda: None))
