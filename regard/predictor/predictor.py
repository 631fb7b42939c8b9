"""Texts in, predictions out: the one road that the command line, evaluation and pages share."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from regard.attention import is_recording
from regard.errors import DataError
from regard.explain.maps import without_end
from regard.ops.memory import keep_memory
from regard.ops.plain import is_plain
from regard.predictor.at_once import Rows, at_once, planned
from regard.predictor.predictions import Predictions
from regard.results import Prediction
from regard.tasks import Task
from regard.text.clean import clean

WIDTH_OF_MAPS = 4  # rows a sentence counts for when all that it looked at is kept


class Predictor:
    """A model and its task, ready to answer.

    >>> predictor = regard.load("runs/en-de")
    >>> for prediction in predictor.predict(["Good morning!"]):
    ...     print(prediction.text, prediction.score)
    """

    def __init__(self, model: Any, task: Task, *, batch_tokens: int = 24576, max_source: int = 1024) -> None:
        keep_memory()
        self.model, self.task = model.eval(), task
        self.batch_tokens, most = batch_tokens, model.max_source
        self.max_source = max_source if most is None else min(max_source, most)

    def __repr__(self) -> str:
        sizes = " → ".join(f"{len(one)}" for one in dict.fromkeys((self.task.source, self.task.target))) + " pieces"
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Predictor({sizes}, {count / 1e6:.1f} M parameters)"

    def predict(self, texts: Iterable[str], *, explain: bool = False) -> Predictions:
        """One prediction per text, in order; with `explain` each carries what it looked at.

        A translator answers nothing with nothing; a language model, which goes on with a text, begins one. Batched by
        length; a text's answer does not depend on the others. Raises DataError for a text that is longer than
        `max_source` pieces, or than the model knows places, and TypeError for anything but texts.
        """
        given = _listed(texts, "predict([text])")
        sources = self._encode(given)
        written = [row for row, text in enumerate(given) if self.task.continues or text.strip()]
        found = self._in_batches(
            [sources[row] for row in written], None, self.task.predict, width=self.task.search.width
        )
        predictions = Predictions(Prediction(text, "", 0.0) for text in given)  # nothing says nothing
        for row, prediction in zip(written, found, strict=True):
            predictions[row] = prediction
        return self.explained(predictions) if explain else predictions

    def score(self, sources: Iterable[str], targets: Iterable[str]) -> Predictions:
        """How likely the model finds each given target (forced decoding): log-probabilities per piece, in nats.

        For a language model a target is what follows on its source, which may be empty. Raises DataError
        where the counts differ, or a source is too long.
        """
        example = "score([source], [target])"
        read = self._encode(_listed(sources, example))
        wanted = self.task.target.encode_batch(_listed(targets, example))
        if len(read) != len(wanted):
            raise DataError("target", f"{len(wanted):,} texts, but the source has {len(read):,}")
        return Predictions(self._in_batches(read, wanted, self.task.force))

    def explained(self, predictions: Sequence[Prediction]) -> Predictions:
        """The same predictions, each with what its pieces looked at as they were written."""
        sources = self._encode(prediction.source for prediction in predictions)
        targets = [self._written(prediction) for prediction in predictions]
        explanations = self._in_batches(sources, targets, self.task.explain, width=WIDTH_OF_MAPS, alone=True)
        return Predictions(
            replace(prediction, explanation=found if prediction.finished else without_end(found))
            for prediction, found in zip(predictions, explanations, strict=True)
        )

    def _written(self, prediction: Prediction) -> list[int]:
        return self.task.target.encode(prediction.text) if prediction.ids is None else prediction.ids

    def _encode(self, texts: Iterable[str]) -> list[list[int]]:
        sources = self.task.source.encode_batch([clean(text) for text in texts])
        for line, ids in enumerate(sources, start=1):
            if len(ids) >= self.max_source:
                hint = "split the text into sentences"
                if self.max_source != self.model.max_source:
                    hint += f", or raise decoding.max_source, which is {self.max_source}"
                problem = f"{len(ids)} pieces are more than this model takes ({self.max_source - 1})"
                raise DataError("source", problem, line=line, hint=hint)
        return sources

    def _in_batches(
        self,
        sources: list[list[int]],
        targets: list[list[int]] | None,
        task: Any,
        *,
        width: int = 1,
        alone: bool = False,
    ) -> list[Any]:
        """What the task answers for each; `alone`: one batch at a time, as hooks on the model need it.

        Large batches spare calls, small ones stay in a cache: where each piece takes `width` times the room, the best
        size is that of one piece divided by the root of `width`, as two costs t / size and size · width have it.
        """
        device = next(self.model.parameters()).device
        lengths = [max(len(ids), len(targets[row]) if targets else 0) + 1 for row, ids in enumerate(sources)]

        def answer(rows: Rows) -> list[Any]:
            some = None if targets is None else [targets[row] for row in rows]
            answers: list[Any] = task(self.model, self.task.batch([sources[row] for row in rows], some).to(device))
            return answers

        here = alone or is_plain() or is_recording()  # said to this thread alone
        threads = 1 if here or device.type != "cpu" else torch.get_num_threads()
        batches, threads = planned(lengths, max(int(self.batch_tokens / math.sqrt(width)), 1), threads)
        answers: list[Any] = [None] * len(sources)
        for rows, found in zip(batches, at_once(answer, batches, threads), strict=True):
            for row, given in zip(rows, found, strict=True):
                answers[row] = given
        return answers


def _listed(texts: Iterable[str], example: str) -> list[str]:
    """Raises TypeError for one text, which would be read letter by letter, and for items that are no text."""
    one = isinstance(texts, str)
    listed = [] if one else list(texts)
    strange = [type(item).__name__ for item in listed if not isinstance(item, str)]
    if one or strange:
        given = "one text" if one else f"items of type {strange[0]}"
        raise TypeError(f"a list of texts is needed, not {given}; one text: {example}")
    return listed
