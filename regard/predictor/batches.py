"""Batches of a predictor: examples that texts stand for, their ids, and several batches at once, one thread each.

Small products gain less from a second thread than a second batch does.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from regard.attention import is_recording
from regard.data.columns import TextColumn, longest_read
from regard.data.examples import ColumnTexts
from regard.data.packing import chunks
from regard.errors import DataError, TooLongError
from regard.models import Model
from regard.ops.memory import hinting_at_memory
from regard.ops.plain import is_plain
from regard.predictor.terminology import TermPhrases
from regard.records import Batch
from regard.results import Prediction
from regard.tasks import Task
from regard.tasks.example_texts import Ids
from regard.text.clean import clean

Rows = NDArray[np.int64]
_T = TypeVar("_T")

FEWEST_TOKENS = 2048  # tokens below which all threads work on one batch


def planned(lengths: Sequence[int], tokens: int, threads: int) -> tuple[list[Rows], int]:
    """Return batches of at most `tokens` for texts of these lengths, and how many batches are computed at once.

    Several threads share the budget, and their batches are about equal, so that none waits long for the last one.
    """
    total, most = sum(lengths), max(tokens // threads, 1)
    if threads == 1 or total < FEWEST_TOKENS:
        return chunks(lengths, tokens), 1
    wanted = threads * math.ceil(total / tokens)
    share = max(total // wanted, 1)
    batches = chunks(lengths, min(share, most))
    while len(batches) > wanted and share < most:  # padding takes what is between
        share += math.ceil(share * 0.05)
        batches = chunks(lengths, min(share, most))
    return batches, threads


def at_once(answer: Callable[[Rows], list[_T]], batches: Sequence[Rows], threads: int) -> Iterator[list[_T]]:
    """Yield the answers in the order of the batches; each of several threads computes one batch."""

    def alone(rows: Rows) -> list[_T]:
        with torch.inference_mode():  # which a thread has for itself
            return answer(rows)

    if threads == 1:
        yield from map(alone, batches)
        return
    with _one_thread_each(threads) as pool:
        yield from pool.map(alone, batches)


@contextmanager
def _one_thread_each(threads: int) -> Iterator[ThreadPoolExecutor]:
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, "regard", initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)  # some of what it sets is the process's, not the thread's


class TextEncoder:
    """Texts → ids of their pieces, and batches of these: what a model computes on.

    >>> encoder = regard.load("runs/en-de").encoder
    >>> (ids,) = encoder.encode(encoder.examples(["Good morning!"]))  # {"source": [412, 87, 9]}
    """

    def __init__(self, model: Model, task: Task, *, max_source: int, batch_tokens: int) -> None:
        """Store the limits in pieces: `max_source` of a text with its end, `batch_tokens` of a batch with padding."""
        self.model, self.task, self.max_source, self.batch_tokens = model, task, max_source, batch_tokens

    def examples(self, texts: Sequence[str | ColumnTexts]) -> list[ColumnTexts]:
        """Return the texts by column. Raises DataError, with its number, for a text that lacks a column."""
        found = list[ColumnTexts]()
        for line, text in enumerate(texts, start=1):
            try:
                found.append(self.task.texts.given(text) if isinstance(text, str) else text)
            except DataError as error:
                raise error.at(line) from error
        return found

    def check(self, examples: Sequence[ColumnTexts]) -> None:
        """Raise DataError for an example that lacks a column."""
        for line, example in enumerate(examples, start=1):
            for name in self.task.inputs:
                if not isinstance(example.get(name), str):
                    raise DataError(name, "is missing in an example, or is not a text", line=line)

    def encode(self, examples: Sequence[ColumnTexts], lines: Sequence[int] | None = None) -> list[Ids]:
        """Return the ids of the pieces of each example, by column.

        `lines` are the numbers of the examples in errors, from 1. Raises DataError for a missing column, and
        TooLongError for a text of more than `max_source` pieces.
        """
        self.check(examples)
        rows = self.task.encode([{name: clean(value) for name, value in one.items()} for one in examples])
        for line, row in zip(lines or range(1, len(rows) + 1), rows, strict=True):
            size = longest_read(self.task.vocabularies, row)
            if size >= self.max_source:
                hint = "split the text into sentences"
                if self.max_source != self.model.max_source:
                    hint += f", or raise decoding.max_source, which is {self.max_source}"
                problem = f"{size} pieces are more than this model takes ({self.max_source - 1})"
                raise TooLongError("source", problem, line=line, hint=hint)
        return rows

    def encode_fitting(self, examples: Sequence[ColumnTexts]) -> list[Ids | None]:
        """Return the ids of each example; None for one that has more pieces than the model takes."""
        rows = self.task.encode(examples) if examples else []
        return [row if longest_read(self.task.vocabularies, row) < self.max_source else None for row in rows]

    def encode_answered(self, predictions: Sequence[Prediction]) -> list[Ids]:
        """Return the ids of predictions with their answers. Raises as `encode` does."""
        self.encode(self.examples([prediction.source for prediction in predictions]))
        answered = self.task.texts.answered
        return [answered(replace(one, source=clean(one.source))) for one in predictions]

    @cached_property
    def term_phrases(self) -> TermPhrases:
        """Terms of glossaries, in pieces of translations."""
        target, source = (
            self.task.vocabularies.get(name) for name in (self.task.last, self.task.spec.translated or "")
        )
        return TermPhrases(cast(TextColumn, target), cast(TextColumn | None, source))

    def in_batches(
        self,
        rows: Sequence[Ids],
        work: Callable[[Batch], list[_T]],
        *,
        width: int = 1,
        alone: bool = False,
        lines: Sequence[int] | None = None,
    ) -> list[_T]:
        """Return what `work` makes of each row; `alone`: one batch at a time, as hooks on the model need it.

        `lines` of the batches are the places of the rows, unless they are given.

        Large batches spare calls, small ones stay in a cache: where each piece takes `width` times the memory, the best
        size is that of one piece divided by the root of `width`, as two costs t / size and size · width have it.
        """
        device = self.model.device
        lengths = [max(map(len, row.values())) + 1 for row in rows]
        names = torch.arange(len(rows)) if lines is None else torch.tensor(lines, dtype=torch.long)

        def answer(places: Rows) -> list[_T]:
            batch = self.task.batch([rows[place] for place in places])
            return work(batch._replace(lines=names[places]).to(device))

        here = alone or is_plain() or is_recording()  # said to this thread alone
        threads = 1 if here or device.type != "cpu" else torch.get_num_threads()
        batches, threads = planned(lengths, max(int(self.batch_tokens / math.sqrt(width)), 1), threads)
        answers: dict[int, _T] = {}
        with hinting_at_memory("try decoding.batch_tokens=2048 or less, or shorter texts"):
            for places, found in zip(batches, at_once(answer, batches, threads), strict=True):
                answers |= zip(places.tolist(), found, strict=True)
        return [answers[place] for place in range(len(rows))]
