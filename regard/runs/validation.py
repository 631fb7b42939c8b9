"""How good a model is on the dev part: its loss on what is given, and metrics of what it writes itself."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from regard.data.packing import chunks
from regard.evaluation import METRICS
from regard.experiment import LOSSES
from regard.registry import Choice
from regard.runs.texts import Pairs
from regard.tasks.translation import TranslationTask


class Validation:
    """Called by the trainer: {loss (nats per target piece), perplexity, and the value of each metric}."""

    def __init__(
        self, model: Any, task: TranslationTask, pairs: Pairs, metrics: Sequence[Choice], *, batch_tokens: int
    ) -> None:
        self.model, self.task, self.pairs = model, task, pairs
        self.metrics = {choice.name: METRICS.build(choice) for choice in metrics if choice.name not in LOSSES}
        self._sources = task.source.encode_batch(pairs.sources)
        self._targets = task.target.encode_batch(pairs.targets)
        lengths = [max(len(a), len(b)) + 1 for a, b in zip(self._sources, self._targets, strict=True)]
        self._chunks = chunks(lengths, batch_tokens)

    def __call__(self, should_stop: Callable[[], bool]) -> Mapping[str, float]:
        """All figures; empty when it was told to stop on the way."""
        device = next(self.model.parameters()).device
        texts = [""] * len(self._sources)
        total, count = 0.0, 0
        with torch.inference_mode():
            for rows in self._chunks:
                if should_stop():
                    return {}
                sources, targets = ([side[row] for row in rows] for side in (self._sources, self._targets))
                batch = self.task.batch(sources, targets).to(device)
                total += float(self.model.nll(batch).double().sum())
                count += batch.count
                for row, prediction in zip(rows, self.task.predict(self.model, batch), strict=True):
                    texts[row] = prediction.text
        loss = total / max(1, count)
        figures = {"loss": loss, "perplexity": math.exp(min(loss, 50.0))}
        for name, metric in self.metrics.items():
            figures[name] = metric.score(texts, self.pairs.targets, self.pairs.sources).value
        return figures
