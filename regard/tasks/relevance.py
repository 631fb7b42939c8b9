"""Relevance of the words of one example, by any method: named words with numbers."""

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from regard.data.columns import TextColumn
from regard.errors import RegardError, nearest
from regard.explain.relevance import Question, Relevance, StateQuestion
from regard.explain.relevance.question import OnProgress, no_progress
from regard.models import Model
from regard.records import PAD, Batch
from regard.results import WordRelevance
from regard.tasks.task import Task

JOINT = "+"  # between the names of texts that are read as one sequence
TOKENS = 2048  # per pass: every item of an answer reads the whole example


def word_relevance(
    task: Task, model: Model, batch: Batch, method: Relevance, method_name: str, progress: OnProgress = no_progress
) -> WordRelevance:
    """Return the relevance of the only example of a batch by a method. Raises RegardError where it is not supported.

    `progress` is called before every pass through the model.
    """
    question = question_of(task, model, batch)
    names, reads = question.columns, [ids for _, ids in model.reads(batch)]
    tokens = _tokens_of(task, names, reads)
    portions = question.items.split(max(TOKENS // sum(map(Tensor.numel, reads)), 1))
    asked = [Question(model, batch, names, items, progress) for items in portions] or [question]
    found = [method.of(one) for one in asked]
    with torch.no_grad():
        scores = torch.cat([one.scores(one.vectors) for one in asked])
    words = [torch.cat(parts) for parts in zip(*(one.words for one in found), strict=True)]
    totals = [one.total.double().tolist() for one in found if one.total is not None]
    return WordRelevance(
        method_name,
        task.relevance.items(batch, question.items.tolist()),
        tokens,
        {name: rows.double().tolist() for name, rows in zip(names, words, strict=True)},
        scores.double().tolist(),
        [total for some in totals for total in some] if totals else None,
        method.comparable,
    )


def state_relevance(
    task: Task, model: Model, batch: Batch, method: Relevance, method_name: str, layer: str
) -> WordRelevance:
    """Return the relevance of each word for each state of a layer, as the sum of its numbers; without probabilities.

    `layer` is encoder, decoder or the name of any module. Raises RegardError for one that does not exist, or that the
    answer does not depend on.
    """
    whole = question_of(task, model, batch)
    parts = {name: modules[0] for name, modules in model.parts().items() if modules}
    named = {id(module): name for name, module in model.named_modules()}
    place = named.get(id(parts.get(layer)), layer)
    if place not in named.values():
        hint = f"{nearest(layer, parts)}, or the name of a module"
        raise RegardError(f"relevance: there is no layer '{layer}' in this model ({hint})")
    probe = StateQuestion(model, batch, whole.columns, place, torch.zeros(1, dtype=torch.long))
    with torch.no_grad():
        count = probe.answer(probe.vectors).shape[1]
    tokens = _tokens_of(task, whole.columns, [ids for _, ids in model.reads(batch)])
    found = method.of(StateQuestion(model, batch, whole.columns, place, torch.arange(count)))
    return WordRelevance(
        method_name,
        _named(count, tokens, found.words, task.relevance.items(batch, whole.items.tolist())),
        tokens,
        {name: rows.double().tolist() for name, rows in zip(tokens, found.words, strict=True)},
        [],
        None if found.total is None else found.total.double().tolist(),
        method.comparable,
    )


def _named(count: int, tokens: Mapping[str, list[str]], words: Sequence[Tensor], written: list[str]) -> list[str]:
    """Return names of states: the words of the last text that they depend on, or the written words of an answer."""
    names = [*tokens]
    for name, relevance in reversed([*zip(names, words, strict=True)]):
        own = written if name == names[-1] and len(names) > 1 else tokens[name]
        if len(own) == count and bool(relevance.any()):
            return own
    return [str(number + 1) for number in range(count)]


def question_of(task: Task, model: Model, batch: Batch) -> Question:
    """Return the relevance question for the only example of a batch, its reads named by the task's columns."""
    return Question(model, batch, _columns(task, len(model.reads(batch))))


def _columns(task: Task, reads: int) -> Sequence[str]:
    """Return the columns that a model reads: those of the task, the input, or all where it reads its own output."""
    joint = [JOINT.join(task.inputs)]
    return next(
        (names for names in (task.relevance.weighted, task.inputs, tuple(task.columns)) if len(names) == reads), joint
    )


def _tokens_of(task: Task, names: Sequence[str], reads: Sequence[Tensor]) -> dict[str, list[str]]:
    """Return the tokens of each text that is read, by the names of the reads."""
    columns = [cast(TextColumn, task.vocabularies[name.partition(JOINT)[0]]) for name in names]
    return {name: _tokens(column, ids) for name, column, ids in zip(names, columns, reads, strict=True)}


def _tokens(column: TextColumn, ids: Tensor) -> list[str]:
    """Return the token at each place of ids (row, n); the rows of one example are pieces of the same words."""
    places = ids.t().tolist()
    return ["".join(column.pieces([one for one in place if one != PAD] or place[:1])) for place in places]
