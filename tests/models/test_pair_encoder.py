"""Pairs read as one text: by hand, row by row, and what is shown of it."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import recording
from regard.data.columns import TextColumn
from regard.data.columns.label import LabelColumn
from regard.models import MODELS
from regard.models.pair_encoder import PairEncoder, joined_pair
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.tasks import TASKS, Task

PAIRS = [("ab", "a"), ("b", "abab"), ("aab", "b")]
BLOCK = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8, "feedforward": Choice("gelu")})


@pytest.fixture
def task() -> Task:
    text = TextColumn.learn(["ab ba"], Choice("characters"))
    columns = {"first": text, "second": text, "label": LabelColumn.learn(["yes", "no"], Choice("characters"))}
    return TASKS.build(Choice("pairs"), columns)


@pytest.fixture
def model(task: Task) -> PairEncoder:
    torch.manual_seed(2)
    choice = Choice("pair_encoder", {"dim": 8, "dropout": 0.0, "encoder": BLOCK})
    made = MODELS.build(choice, task.vocabularies).double().eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def batch_of(task: Task, pairs: list[tuple[str, str]]) -> Batch:
    return task.batch(task.encode([{"first": one, "second": two, "label": "yes"} for one, two in pairs]))


def test_texts_are_joined_without_padding_between():
    first = torch.tensor([[7, 8, EOS], [9, EOS, PAD]])
    second = torch.tensor([[5, EOS], [6, EOS]])
    both = joined_pair(*(Sequences(items, items != PAD) for items in (first, second)))
    assert both.items.tolist() == [[BOS, 7, 8, EOS, 5, EOS], [BOS, 9, EOS, 6, EOS, PAD]]
    assert torch.equal(both.mask, both.items != PAD)


def test_a_pair_is_what_it_is_alone(task, model, assert_agrees):
    together = model.log_probs(batch_of(task, PAIRS))
    alone = torch.cat([model.log_probs(batch_of(task, [pair])) for pair in PAIRS])
    assert_agrees("E06", together, alone)
    swapped = model.log_probs(batch_of(task, [(two, one) for one, two in PAIRS]))
    assert not torch.allclose(swapped, together)


def test_maps_are_parts_of_the_joint_one(task, model):
    batch = batch_of(task, PAIRS)
    seen, _ = model.attention_records(batch)
    with recording(model) as records:
        model.log_probs(batch)
    name, joint = next((name, one.answers[0].weights) for name, one in records.items())
    shown = seen[f"{name} (first → second)"].answers[0].weights
    for row, (one, two) in enumerate(PAIRS):
        n, m = len(one) + 1, len(two) + 1
        assert_close(shown[row, :, :n, :m], joint[row, :, 1 : 1 + n, 1 + n : 1 + n + m])
    (found, *_) = task.explain(model, batch)
    assert {(each.queries, each.keys) for each in found.maps if each.queries} == {
        (one, two) for one in ("first", "second") for two in ("first", "second")
    }


def test_what_the_start_saw_stands_for_the_pooling(task, model):
    """In the last layer, of each text; <s> itself is left out."""
    batch = batch_of(task, PAIRS)
    with recording(model) as records:
        model.log_probs(batch)
    *_, last = (one.answers[0].weights for one in records.values())
    for row, (one, two) in enumerate(PAIRS):
        n, m = len(one) + 1, len(two) + 1
        maps = {each.keys: each.weights for each in task.explain(model, batch)[row].maps if each.kind == "pooling"}
        for keys, places in (("first", slice(1, 1 + n)), ("second", slice(1 + n, 1 + n + m))):
            assert_close(torch.tensor(maps[keys])[:, 0].double(), last[row, :, 0, places], rtol=0, atol=5.1e-5)
