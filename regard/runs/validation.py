"""How good a model is on the dev part: its loss on what is given, and metrics of what it writes itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from regard.evaluation import METRICS
from regard.registry import Choice
from regard.tasks import Task, Texts


class Validation:
    """Called by the trainer: the task's losses (nats per target piece) and the value of each metric."""

    def __init__(self, model: Any, task: Task, texts: Texts, metrics: Sequence[Choice], *, batch_tokens: int) -> None:
        self.model, self.task, self.texts = model, task, texts
        self.metrics = {choice.name: METRICS.build(choice) for choice in metrics if choice.name not in task.losses}
        self._batches = task.held(texts, batch_tokens)

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """All figures; empty when it was told to stop on the way."""
        device = next(self.model.parameters()).device
        given, wanted = self.texts[self.task.columns[0]], self.texts[self.task.columns[-1]]
        found = [""] * len(wanted)
        total, count = 0.0, 0
        with torch.inference_mode():
            for batch in self._batches:
                if should_stop():
                    return {}
                placed = batch.to(device)
                total += float(self.model.nll(placed).double().sum())
                count += batch.count
                if self.metrics:
                    for row, one in zip(batch.lines.tolist(), self.task.predict(self.model, placed), strict=True):
                        found[row] = one.text
        figures = self.task.figures(total, count, self.texts)
        return figures | {name: metric.score(found, wanted, given).value for name, metric in self.metrics.items()}
