"""Rewards beside that of the metric: coherence in its text, exact on enumerated targets."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from enumerable import TableWriter, Told, batch_of, every_target
from torch.testing import assert_close

from regard.data.collate import collate
from regard.errors import ConfigError
from regard.objectives import OBJECTIVES, Context
from regard.objectives.rewards.coherence import rows_by_text
from regard.records import EOS, Batch
from regard.registry import Choice

GIVEN = [(4, EOS), (5, 3, EOS), (3, EOS)]
TEXT, OTHER = [7, EOS, 8, EOS], [9, EOS]
COHERENCE = {"name": "coherence", "teacher": "runs/order"}


class ToldText(Told):
    """A task whose rows stand in texts."""

    @property
    def vocabularies(self):
        return {"target": self, "document": self}


def in_texts(lines: Sequence[int] = (0, 1, 2)) -> Batch:
    """The first two rows are of one text, the third one is of another."""
    batch = batch_of(GIVEN)
    columns = {**batch.columns, "document": collate([TEXT, TEXT, OTHER])}
    return batch._replace(columns=columns, lines=torch.tensor(lines))


def share(text: str) -> float:
    """What the teacher says: a number that every text has."""
    return 1 / (1 + sum(ord(letter) * place for place, letter in enumerate(text, 1)) % 7)


def teacher(run: Path):
    assert run == Path("runs/order")
    return lambda texts: [{"original": share(text), "shuffled": 1 - share(text)} for text in texts]


def objective(name: str, model: TableWriter, open_classifier=teacher, task=None, **settings):
    rewards = {"rewards": [{**COHERENCE, **settings.pop("reward", {})}]}
    context = Context(model, task or ToldText(), open_classifier=open_classifier)
    return OBJECTIVES.build(Choice(name, {**rewards, **settings, "likelihood": 0.0}), context)


def spelled(targets: Sequence[Sequence[int]]) -> str:
    return " ".join(Told().decode([one for one in target if one != EOS]) for target in targets)


def gradient(loss, model):
    return torch.autograd.grad(loss, model.table)[0]


@pytest.fixture
def model():
    return TableWriter()


def bare(model: TableWriter, targets: list[list[tuple[int, ...]]]) -> torch.Tensor:
    """The rewards of the metric alone."""
    built = OBJECTIVES.build(Choice("minimum_risk"), Context(model, ToldText()))
    return built.reward(targets, in_texts())


def test_a_sentence_is_judged_in_its_place(model):
    """By hand: the text of the second row is the first given target and what was written."""
    one, two, three = GIVEN
    written = [[(3, EOS)], [(4, 4), one], [three]]
    added = objective("minimum_risk", model, reward={"weight": 0.5}).reward(written, in_texts()) - bare(model, written)
    texts = [[(3, EOS), two], [one, (4, 4)], [one, one], [three]]
    assert_close(added, torch.tensor([0.5 * share(spelled(text)) for text in texts]))


def test_the_order_of_a_text_is_that_of_its_lines():
    assert rows_by_text(in_texts()) == [[0, 1], [0, 1], [2]]
    assert rows_by_text(in_texts([8, 3, 5])) == [[1, 0], [1, 0], [2]]


def test_risk_of_all_targets_is_the_exact_expectation(model, monkeypatch, assert_agrees):
    every, batch = every_target(), in_texts()
    built = objective("minimum_risk", model, sharpness=1.0)
    monkeypatch.setattr(built, "sampled", lambda batch: [every] * 3)
    one, two, three = GIVEN
    exact = 0.0
    for row, mates in enumerate(([None, two], [one, None], [None])):
        targets = [*dict.fromkeys([GIVEN[row], *every])]
        wanted = bare(model, [targets if place == row else [] for place in range(3)])
        evaluated = [share(spelled([target if mate is None else mate for mate in mates])) for target in targets]
        chances = (-model.nll(batch_of(targets)).sum(dim=-1)).softmax(0)
        exact = exact + (chances * (1 - wanted - torch.tensor(evaluated))).sum()
    assert three == GIVEN[2]
    loss = built.loss(batch, "model").sum
    assert_agrees("F15", loss, exact, 1e-6)
    assert_agrees("F15", gradient(loss, model), gradient(exact, model), 1e-6)


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_a_teacher_that_says_the_same_of_all_changes_no_gradient(name, model):
    """And where the metric says nothing either, as with an equal reward of all, there is none at all."""
    found = []
    for weight in (0.0, 1.0):
        torch.manual_seed(1)
        built = objective(name, model, open_classifier=lambda run: lambda texts: [{"original": 0.7}] * len(texts),
                          reward={"weight": weight})  # fmt: skip
        found.append(gradient(built.loss(in_texts(), "model").sum, model))
    assert_close(found[1], found[0])


def test_tasks_of_single_sentences_are_refused(model):
    with pytest.raises(ConfigError, match="task reads single sentences"):
        objective("minimum_risk", model, task=Told())


def test_a_label_that_the_teacher_does_not_know_is_told(model):
    built = objective("minimum_risk", model, reward={"label": "orginal"})
    with pytest.raises(ConfigError, match=r"knows no 'orginal'.*original"):
        built.loss(in_texts(), "model")


def test_a_teacher_needs_runs(model):
    with pytest.raises(ConfigError, match="none can be opened here"):
        objective("minimum_risk", model, open_classifier=None)
