"""One example of a task, weighed by a method: from words to numbers with names."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from regard.data.columns import TextColumn
from regard.explain.relevance import Question, Relevance
from regard.models import Model
from regard.records import PAD, Batch
from regard.results import WordRelevance
from regard.tasks.task import Task

JOINT = "+"  # between the names of texts that are read as one
TOKENS = 2048  # that are read at once: every item of an answer reads the whole example


def word_relevance(task: Task, model: Model, batch: Batch, method: Relevance, by: str) -> WordRelevance:
    """Return what the method `by` finds in the only example of a batch. Raises RegardError where it cannot look."""
    reads = [ids for _, ids in model.reads(batch)]
    question = question_of(task, model, batch)
    names = question.columns
    columns = [cast(TextColumn, task.vocabularies[name.partition(JOINT)[0]]) for name in names]
    tokens = {name: _tokens(column, ids) for name, column, ids in zip(names, columns, reads, strict=True)}
    portions = question.items.split(max(TOKENS // sum(map(Tensor.numel, reads)), 1))
    asked = [Question(model, batch, names, items) for items in portions] or [question]
    found = [method.of(one) for one in asked]
    with torch.no_grad():
        scores = torch.cat([one.scores(one.vectors) for one in asked])
    words = [torch.cat(parts) for parts in zip(*(one.words for one in found), strict=True)]
    totals = [one.total.double().tolist() for one in found if one.total is not None]
    return WordRelevance(
        by,
        task.items(batch, question.items.tolist()),
        tokens,
        {name: rows.double().tolist() for name, rows in zip(names, words, strict=True)},
        scores.double().tolist(),
        [total for some in totals for total in some] if totals else None,
        method.comparable,
    )


def question_of(task: Task, model: Model, batch: Batch) -> Question:
    """Return what is asked of a model about the only example of a batch, its reads named by the task's columns."""
    return Question(model, batch, _columns(task, len(model.reads(batch))))


def _columns(task: Task, reads: int) -> Sequence[str]:
    """The columns that a model reads: those that are given, with the answer's where it reads what it wrote."""
    joint = [JOINT.join(task.inputs)]
    return next((names for names in (task.inputs, tuple(task.columns)) if len(names) == reads), joint)


def _tokens(column: TextColumn, ids: Tensor) -> list[str]:
    """What each place of ids (row, n) holds; the rows of one example are pieces of the same words."""
    places = ids.t().tolist()
    return ["".join(column.pieces([one for one in place if one != PAD] or place[:1])) for place in places]
