"""What a model makes of examples: answers and losses, computed batch by batch when a measure asks for them."""

from collections.abc import Callable, Iterator

import torch

from regard.decoding import Engine
from regard.evaluation.metric import Statistics
from regard.models import Model
from regard.records import Batch
from regard.results import Prediction
from regard.tasks.examples import Examples
from regard.tasks.measures import Outcome
from regard.tasks.task import Task


def outcome_of(
    task: Task,
    model: Model,
    engine: Engine,
    examples: Examples,
    tokens: int,
    stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Return what a model makes of examples, in batches of at most so many tokens.

    `stop` is called before each batch; what it raises ends the work.
    """
    device = model.device

    def batches() -> Iterator[Batch]:
        for batch in task.held(examples, tokens):
            stop()
            yield batch.to(device)

    def answers() -> list[Prediction]:
        found: dict[int, Prediction] = {}
        with torch.inference_mode():
            for batch in batches():
                found |= zip(batch.lines.tolist(), task.predict(engine, batch), strict=True)
        return [found[place] for place in range(len(found))]

    def losses() -> Statistics:
        with torch.inference_mode():
            return task.losses(model, batches(), examples)

    return Outcome(examples, answers, losses)
