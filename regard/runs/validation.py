"""Validation of a model on the dev set: likelihood of the references, and metrics of its own answers."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from regard.decoding import Answering
from regard.evaluation.metric import Statistics
from regard.models import Model
from regard.tasks import Examples, Measure, Outcome, Task
from regard.tasks.task import outcome_of

WIDTH = 110  # maximum characters of a printed answer


class _Stopped(Exception):
    """Validation was stopped."""


class Validation:
    """Called by the trainer: the value of each measure, by its key."""

    def __init__(
        self,
        model: Model,
        task: Task,
        engine: Answering,
        examples: Examples,
        measures: Sequence[Measure],
        *,
        batch_tokens: int,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`say` gets one of the answers, where a measure needs them."""
        self.model, self.task, self.engine, self.examples = model, task, engine, examples
        self.measures, self.batch_tokens, self.say = tuple(measures), batch_tokens, say

    def on(self, examples: Examples, measure: Measure) -> "Validation":
        """Return the same validation on other examples, by a further measure, without answers printed."""
        more = [] if measure.key in (one.key for one in self.measures) else [measure]
        measures, tokens = [*self.measures, *more], self.batch_tokens
        return Validation(self.model, self.task, self.engine, examples, measures, batch_tokens=tokens)

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """Return all metrics; empty when stopped early."""
        return self.values(self.statistics(should_stop))

    def statistics(self, should_stop: Callable[[], bool] = lambda: False) -> dict[str, Statistics]:
        """Return the statistics (example, statistic) of each measure, by its key; empty when stopped early."""

        def stop() -> None:
            if should_stop():
                raise _Stopped

        try:
            outcome = outcome_of(self.task, self.model, self.engine, self.examples, self.batch_tokens, stop)
            statistics = {measure.key: measure.statistics(outcome) for measure in self.measures}
        except _Stopped:
            return {}
        self._show(outcome)
        return statistics

    def rows(self) -> Statistics:
        """Return the statistics (example, statistic) of the first measure."""
        return self.statistics()[self.measures[0].key]

    def values(self, statistics: Mapping[str, Statistics]) -> dict[str, float]:
        """Return all metrics of these statistics; empty where there are none."""
        return {one.key: one.value(statistics[one.key].sum(axis=0)) for one in self.measures if statistics}

    def _show(self, outcome: Outcome) -> None:
        """Print the answer to the first example."""
        given = [self.examples[name] for name in self.task.inputs]
        for text in outcome.texts[:1]:
            self.say("\n".join([*(f"   {_cut(column[0])}" for column in given), f"   → {_cut(text)}"]))


class Validations:
    """Several named validations as one: the mean of every metric, and each one as `bleu-fr`."""

    def __init__(self, parts: Mapping[str, Validation]) -> None:
        self.parts = dict(parts)

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """Return all metrics; empty when stopped early."""
        found = dict[str, Mapping[str, float]]()
        for name, part in self.parts.items():
            found[name] = part(should_stop)
            if not found[name]:
                return {}
        means = {key: fmean(scores[key] for scores in found.values()) for key in next(iter(found.values()))}
        return {**means, **{f"{key}-{name}": scores[key] for name, scores in found.items() for key in scores}}


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
