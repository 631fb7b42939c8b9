"""How good a model is on the dev part: how well it knows what is given, and metrics of what it answers itself."""

from collections.abc import Callable, Mapping, Sequence

from regard.decoding import Engine
from regard.models import Model
from regard.tasks import Examples, Measure, Task


class _Stopped(Exception):
    """Validation was told to stop."""


class Validation:
    """Called by the trainer: the value of each measure, by its key."""

    def __init__(
        self,
        model: Model,
        task: Task,
        engine: Engine,
        examples: Examples,
        measures: Sequence[Measure],
        *,
        batch_tokens: int,
    ) -> None:
        self.model, self.task, self.engine, self.examples = model, task, engine, examples
        self.measures, self.batch_tokens = tuple(measures), batch_tokens

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """All figures; empty when it was told to stop on the way."""

        def stop() -> None:
            if should_stop():
                raise _Stopped

        try:
            outcome = self.task.outcome(self.model, self.engine, self.examples, self.batch_tokens, stop)
            statistics = {measure: measure.statistics(outcome) for measure in self.measures}
        except _Stopped:
            return {}
        return {measure.key: measure.value(rows.sum(axis=0)) for measure, rows in statistics.items()}
