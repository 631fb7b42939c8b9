"""Posterior regularisation against sums over all targets, and its features by hand."""

import math
from typing import Any

import pytest
import torch
from enumerable import TableWriter, Told, batch_of, every_target
from torch.testing import assert_close

from regard.errors import RegardError
from regard.objectives import OBJECTIVES, Context
from regard.objectives.posterior_features import POSTERIOR_FEATURES
from regard.records import BOS, EOS
from regard.registry import Choice

GIVEN = (4, EOS)
LENGTH = Choice("length_ratio", {"weight": 2.0})


class Task(Told):
    @property
    def vocabularies(self) -> dict[str, Any]:
        return {"source": self, "target": self}


@pytest.fixture
def model():
    return TableWriter()


def objective(model, **settings):
    choice = Choice("posterior_regularisation", {"features": (LENGTH,), **settings})
    return OBJECTIVES.build(choice, Context(model, Task())).double()


def divergence(model, targets, sharpness, strength):
    """KL(Q ‖ P) with Q and P over these targets, one by one; sources have one word."""
    log_probs = -model.nll(batch_of(targets)).sum(dim=-1)
    powers = (log_probs * sharpness).exp()
    lengths = [sum(one != EOS for one in target) for target in targets]
    value = torch.tensor([min(n, 1 / n) if n else 0.0 for n in lengths], dtype=torch.float64)
    wanted = (strength * value).exp()
    total = torch.zeros((), dtype=torch.float64)
    for power, want in zip(powers, wanted, strict=True):
        q, p = want / wanted.sum(), power / powers.sum()
        total = total + q * (q.log() - p.log())
    return total, (powers / powers.sum() * value).sum()


@pytest.mark.parametrize("sharpness", [1.0, 0.2])
def test_divergence_over_all_targets_is_the_exact_one(model, monkeypatch, assert_agrees, sharpness):
    built = objective(model, sharpness=sharpness, weight=0.5, likelihood=0.0)
    monkeypatch.setattr(built, "sampled", lambda batch: [every_target()])
    loss = built.loss(batch_of([GIVEN]), "model")
    exact, expected = divergence(
        model, [GIVEN, *(one for one in every_target() if one != GIVEN)], sharpness, built.strengths
    )
    assert_agrees("F13", loss.sum, 0.5 * exact, 1e-9)
    assert_close(loss.parts["length_ratio"], expected.detach())
    tables = [model.table, built.strengths]
    for found, wanted in zip(
        torch.autograd.grad(loss.sum, tables), torch.autograd.grad(0.5 * exact, tables), strict=True
    ):
        assert_agrees("F13", found, wanted, 1e-9)


def test_sentences_with_other_numbers_of_candidates_add_up(model, monkeypatch):
    built, drawn = objective(model, likelihood=0.7), [[(5, EOS), (5, 5)], [GIVEN]]
    monkeypatch.setattr(built, "sampled", lambda batch: drawn)
    both = built.loss(batch_of([GIVEN, GIVEN]), "model")
    each = []
    for one in drawn:
        monkeypatch.setattr(built, "sampled", lambda batch, one=one: [one])
        each.append(built.loss(batch_of([GIVEN]), "model").sum)
    assert_close(both.sum, sum(each))
    assert both.count == 2
    mean = model.nll(batch_of([GIVEN]), smoothing=0.1).sum() / 2
    assert_close(each[1], 0.7 * mean)  # of one candidate there is no divergence


def test_features_that_are_all_zero_want_equal_shares(model, monkeypatch):
    built = objective(model, likelihood=0.0, sharpness=1.0, weight=1.0)
    targets = [GIVEN, (5, EOS)]
    monkeypatch.setattr(built, "sampled", lambda batch: [targets])
    monkeypatch.setattr(built, "values", lambda found, batch: torch.zeros(1, 2, 1, dtype=torch.float64))
    shares = (-model.nll(batch_of(targets)).sum(dim=-1)).softmax(dim=0)
    assert_close(built.loss(batch_of([GIVEN]), "model").sum, (0.5 * (0.5 / shares).log()).sum())


def test_by_default_a_better_and_likelier_target_gains(model, monkeypatch):
    """With weights of 1 Q would be flatter than P, and it would lose; draws of a translator differ by 20 nats."""
    with torch.no_grad():
        model.table[0, BOS, GIVEN[0]] += 10
    worse = (5, EOS)
    built = OBJECTIVES.build(
        Choice("posterior_regularisation", {"features": (Choice("length_ratio"),), "likelihood": 0.0}),
        Context(model, Task()),
    ).double()
    monkeypatch.setattr(built, "sampled", lambda batch: [[worse]])
    monkeypatch.setattr(built, "values", lambda found, batch: torch.tensor([[[1.0], [0.9]]], dtype=torch.float64))
    apart = torch.tensor([-1.0, 1.0]) @ model.nll(batch_of([GIVEN, worse])).sum(dim=-1).float()
    assert apart > 8
    wanted = torch.autograd.grad(apart, model.table)[0]
    found = torch.autograd.grad(built.loss(batch_of([GIVEN]), "model").sum, model.table)[0]
    assert (wanted * found).sum() < 0  # a step against the gradient makes them differ more


def test_what_is_wanted_becomes_likelier(model):
    built = objective(model, likelihood=0.0, sharpness=1.0, samples=20, weight=1.0)
    before = divergence(model, every_target(), 1.0, 2.0)[1]
    optimizer = torch.optim.SGD([model.table], 0.5)
    for _ in range(30):
        optimizer.zero_grad()
        built.loss(batch_of([GIVEN]), "model").sum.backward()
        optimizer.step()
    assert divergence(model, every_target(), 1.0, 2.0)[1] > before + 0.1


def test_weights_of_features_are_trained_and_saved(model):
    built = objective(model)
    assert {id(one) for one in built.parameters_of("model")} == {id(model.table), id(built.strengths)}
    assert built.state_dict()["strengths"].tolist() == [2.0]


def feature(name, **settings):
    return POSTERIOR_FEATURES.build(Choice(name, settings))


def test_length_ratio_by_hand():
    found = feature("length_ratio", ratio=1.5)("two words", ["a b c", "a b", "a b c d e f", ""])
    assert found == pytest.approx([1.0, 2 / 3, 1 / 2, 0.0])


def test_word_pairs_by_hand(tmp_path):
    file = tmp_path / "lexicon.tsv"
    lines = [("dog", "Hund", 0.7), ("dog", "Köter", 0.2), ("dog", "Katze", 0.05), ("runs", "läuft.", 0.9)]
    write(file, lines)
    found = feature("word_pairs", lexicon=file)("The Dog runs!", ["ein Köter läuft", "die Katze läuft", "", "HUND"])
    assert found == [1.0, 0.5, 0.0, 0.5]
    assert feature("word_pairs", lexicon=file)("of nothing", ["x", ""]) == [1.0, 1.0]


def write(file, lines):
    file.write_text("".join(f"{source}\t{target}\t{value}\n" for source, target, value in lines), encoding="utf-8")


def test_a_lexicon_that_is_missing_is_told(tmp_path):
    with pytest.raises(RegardError, match="nowhere"):
        feature("word_pairs", lexicon=tmp_path / "nowhere")("a", ["b"])


@pytest.mark.parametrize("name", POSTERIOR_FEATURES)
def test_every_feature_is_a_share_of_any_text(name, tmp_path):
    write(tmp_path / "lexicon", [("a", "b", 1.0)])
    settings = {"lexicon": tmp_path / "lexicon"} if "lexicon" in POSTERIOR_FEATURES.settings(name) else {}
    texts = ["", "a", "b b b b", "…", "一只狗", "  "]
    for source in texts:
        assert all(0 <= value <= 1 and math.isfinite(value) for value in feature(name, **settings)(source, texts))
