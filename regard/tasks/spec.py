"""Defaults of a task: its model, metric, settings and wording, where a config names no others."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from regard.data.columns import Columns
from regard.data.examples import ColumnTexts
from regard.models import Generator
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts
from regard.tasks.relevance_view import RelevanceView


class Wording(NamedTuple):
    """Names of a task's examples in tables."""

    examples: str = "examples"
    length: str = "words of the text"  # the unit of a table by length
    speed: str = "answer examples"  # of a finished model, without the unit of time
    use: str = "predict with: regard predict {run} < FILE{line}"  # the command for a finished model
    longer: str = ""  # alternative for examples longer than data.max_length, `limit`


class TaskSpec(NamedTuple):
    """Model, metric, settings and words of a task; one made from another's is its `_replace`."""

    model: str  # row of MODELS unless the config names another
    metric: str  # key of the measure that steers early stopping unless the config says otherwise
    contract: Any = Generator  # base class of its models
    validates: tuple[str, ...] = ()  # keys of metrics reported at each validation
    defaults: Mapping[str, Any] = {}  # settings, as in a file, that differ from the general defaults
    # settings laid over `defaults` and the metric, by the first training examples
    defaults_by_data: Callable[[Iterable[ColumnTexts]], Mapping[str, Any]] = lambda examples: {}
    # settings laid over `defaults` while no part of the network is named: the best ones for a short training
    default_network: Mapping[str, Any] = {}
    # settings of runs of other tasks that start from its model: of their "task", their "training", and their models by
    # row; "rows" names models that replace others, "taken" by row further settings of a model that they take over
    starts: Mapping[str, Mapping[str, Any]] = {}
    texts: Callable[[Columns], ExampleTexts] = ExampleTexts  # parts, made of the columns
    filter: Callable[[Columns], ExampleFilter] = ExampleFilter
    relevance: Callable[[Columns], RelevanceView] = RelevanceView
    translated: str | None = None  # the column of texts in one language whose answers are in another
    wording: Wording = Wording()
