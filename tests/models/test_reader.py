"""Readers: the loss is minus the log of the sum over all places of an answer, by a loop."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import recording
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import ConfigError
from regard.heads.reading.span_head import TINY
from regard.models import MODELS
from regard.models.reader import SpanReader, occurrences
from regard.pieces import EOS, PAD
from regard.records import Sequences
from regard.registry import Choice
from regard.tasks.reading import ReadingTask

NAMES = ("passage", "question", "answer")
ROWS = [
    ("John went to the hall. Mary left the hall. John left.", "Where is John?", "hall"),  # at two places
    ("Mary went.", "Who went?", "Mary"),
    ("John left the big hall of Mary.", "What did John leave?", "the big hall"),
    ("Mary left.", "Where is Mary?", "hall"),  # at none
]
SMALL = {"hidden_dim": 4}


def columns_of(*, shared: bool = True):
    rows = [Example(line, dict(zip(NAMES, row, strict=True))) for line, row in enumerate(ROWS, start=1)]
    return learn_columns(ReadingTask.columns, [rows], Choice("words"), shared=shared)


def build(**settings) -> tuple[SpanReader, ReadingTask]:
    recurrent = Choice("recurrent", SMALL)
    given = {"dim": 6, "encoder": recurrent, "question_encoder": recurrent, "dropout": 0.0, **settings}
    columns = columns_of()
    model = MODELS.build(Choice("reader", given), columns).double().requires_grad_(False).eval()
    return model, ReadingTask(columns)


def batch_of(task: ReadingTask, rows=ROWS):
    return task.batch(task.encode([dict(zip(NAMES, row, strict=True)) for row in rows]))


def by_loop(first: Tensor, last: Tensor, passage: list[int], answer: list[int], most: int) -> float:
    """-log of the sum over all places, one after the other."""
    total = 0.0
    for start in range(len(passage)):
        if passage[start : start + len(answer)] == answer and len(answer) <= most:
            total += math.exp(float(first[start]) + float(last[start + len(answer) - 1]))
    return -math.log(max(total, TINY))


@pytest.mark.parametrize("head", ["pointers", "attention_sum"])
def test_losses_equal_a_loop_over_the_places(head, assert_agrees):
    model, task = build(head=Choice(head))
    batch = batch_of(task)
    losses, (first, last) = model.nll(batch), model.places(batch)
    for row, (passage, _, answer) in enumerate(ROWS):
        ids, wanted = (task.vocabularies["passage"].encode(text) for text in (passage, answer))
        loss = by_loop(first[row], last[row], ids, wanted, model.head.max_pieces)
        assert_agrees("D11", losses[row].sum(), torch.tensor(loss, dtype=torch.float64))
        assert_close(losses[row, 0], losses[row].sum())
    assert int(model.counted(batch).sum()) == batch.count


def test_smoothing_is_over_the_places_where_an_answer_could_stand():
    model, task = build()
    batch = batch_of(task)
    plain, smooth, (first, last) = model.nll(batch), model.nll(batch, smoothing=0.25), model.places(batch)
    for row, (passage, _, answer) in enumerate(ROWS):
        count, pieces = (len(task.vocabularies["passage"].encode(text)) for text in (passage, answer))
        both = [first[row, start] + last[row, start + pieces - 1] for start in range(count - pieces + 1)]
        wanted = 0.75 * plain[row, 0] - 0.25 * torch.stack(both).mean()
        assert_close(smooth[row, 0], wanted)


def test_occurrences_by_hand():
    passage = torch.tensor([[4, 5, 4, 5, 4, EOS], [5, 4, EOS, PAD, PAD, PAD], [4, 4, 4, 4, 4, EOS]])
    answer = torch.tensor([[4, 5, EOS], [4, 5, EOS], [EOS, PAD, PAD]])
    found = occurrences(Sequences(passage, passage != PAD), Sequences(answer, answer != PAD))
    assert [row.nonzero().flatten().tolist() for row in found] == [[0, 2], [], []]


@pytest.mark.parametrize("fusion", ["aligned", "concatenated", "separate"])
def test_padding_and_batch_mates_change_nothing(fusion):
    model, task = build(fusion=Choice(fusion), pooling=Choice("attention"))
    together = model.nll(batch_of(task))
    for row, one in enumerate(ROWS):
        assert_close(model.nll(batch_of(task, [one])).sum(), together[row].sum())


def test_the_end_of_a_passage_is_no_place():
    model, task = build()
    batch = batch_of(task)
    passage = batch.sequences("passage")
    for ends in model.places(batch):
        assert bool((ends.exp()[(passage.items == EOS) | ~passage.mask] < 1e-12).all())


def test_attentions_know_their_columns():
    encoder = Choice("sequential", {"encoders": [Choice("recurrent", SMALL), Choice("self_matching", SMALL)]})
    model, task = build(encoder=encoder, pooling=Choice("attention"))
    with recording(model) as records:
        model.places(batch_of(task))
    roles = {name: (one.role.queries, one.role.keys) for name, one in records.items()}
    assert roles["fusion.layer.attention"] == ("passage", "question")
    assert roles["encoder.stages.1.attention"] == ("passage", "passage")
    assert roles["pooling.attention"] == (None, "question")
    assert roles["head.first"] == roles["head.last"] == (None, "passage")


def test_separate_vocabularies_are_refused():
    with pytest.raises(ConfigError, match=r"text.shared"):
        MODELS.build(Choice("reader", {}), columns_of(shared=False))


def test_an_encoder_that_makes_other_places_is_refused():
    model, task = build(encoder=Choice("unfolded"))
    with pytest.raises(ConfigError, match="makes 18 states of 15 pieces"):
        model.places(batch_of(task))
