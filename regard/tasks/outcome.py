"""Answers and losses of a model for examples, computed batch by batch when a measure needs them."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch

from regard.decoding import Answering
from regard.errors import DataError
from regard.evaluation.metric import Statistics
from regard.models import Model
from regard.records import Batch
from regard.results import Prediction
from regard.tasks.examples import Examples, as_rows
from regard.tasks.measures import Outcome
from regard.tasks.task import Task


def outcome_of(
    task: Task,
    model: Model,
    engine: Answering,
    examples: Examples,
    tokens: int,
    stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Return the answers and losses of a model for examples, in batches of at most `tokens` tokens.

    `stop` is called before each batch; an exception that it raises ends the work. An example whose reference the model
    cannot predict, such as an unseen label, has an answer, but no loss.
    """
    device, rows = model.device, as_rows(examples)
    known = {place: row for place, one in enumerate(rows) if (row := _known(task, one)) is not None}
    whole = [*known.values()] == rows

    def batches(some: Examples) -> Iterator[Batch]:
        for batch in task.held(some, tokens):
            stop()
            yield batch.to(device)

    def answers() -> list[Prediction]:
        found: dict[int, Prediction] = {}
        with torch.inference_mode():
            for batch in batches(examples if whole else {name: examples[name] for name in task.inputs}):
                found |= zip(batch.lines.tolist(), task.predict(engine, batch), strict=True)
        return [found[place] for place in range(len(found))]

    def losses() -> Statistics:
        with torch.inference_mode():
            if whole:
                return task.losses(model, batches(examples), examples)
            found, some = np.zeros((len(rows), 2)), {name: [row[name] for row in known.values()] for name in examples}
            if known:
                found[[*known]] = task.losses(model, batches(some), some)
            return found

    return Outcome(examples, answers, losses)


def _known(task: Task, example: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return an example with a reference that the model can predict; None where it has none."""
    found = task.filter.learnt_from(example) if all(name in example for name in task.columns) else example
    try:
        if found is not None:
            task.filter.check(found)
    except DataError:
        return None
    return found
