"""Minimum risk and self-critical training against all targets that there are."""

import pytest
import torch
from enumerable import TableWriter, batch_of, every_target, told
from torch.testing import assert_close

from regard.decoding import GreedySearch
from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.objectives import OBJECTIVES, Context, PenalisedObjective, build_penalties
from regard.objectives.candidates import ids_of, search_with
from regard.records import EOS
from regard.registry import Choice

GIVEN = (4, EOS)
BATCH = batch_of([GIVEN, (5, 3, EOS)])


@pytest.fixture
def model():
    return TableWriter()


def objective(name, model, **settings):
    return OBJECTIVES.build(Choice(name, settings), Context(model, told()))


def rewards(targets, given, metric="sentence_bleu"):
    """Of each target, by the metric itself."""
    text, told_of = told().decode, [one for one in given if one != EOS]
    score = METRICS.build(Choice(metric)).score
    return torch.tensor(
        [score([text([w for w in one if w != EOS])], [text(told_of)]).value / 100 for one in targets],
        dtype=torch.float64,
    )


def log_probs(model, targets):
    return -model.nll(batch_of(targets)).sum(dim=-1)


def gradient(loss, model):
    return torch.autograd.grad(loss, model.table)[0]


def test_all_targets_together_have_probability_one(model):
    assert_close(log_probs(model, every_target()).exp().sum().item(), 1.0)


def test_risk_of_all_targets_is_the_exact_expectation(model, monkeypatch, assert_agrees):
    every, risk = every_target(), objective("minimum_risk", model, sharpness=1.0, likelihood=0.0)
    monkeypatch.setattr(risk, "sampled", lambda batch: [every, [GIVEN, *every]])
    given = [GIVEN, (5, 3, EOS)]
    exact = sum(
        (log_probs(model, [*{one, *every}]).softmax(0) * (1 - rewards([*{one, *every}], one))).sum() for one in given
    )
    loss = risk.loss(BATCH, "model")
    assert_agrees("F15", loss.sum, exact, 1e-6)
    assert_agrees("F15", gradient(loss.sum, model), gradient(exact, model), 1e-6)
    assert loss.count == 2


@pytest.mark.parametrize("sharpness", [0.05, 0.7])
def test_risk_of_some_targets_has_sharpened_shares_of_each_once(model, monkeypatch, sharpness):
    some = [(4, 4), (EOS,), (4, 4)]
    risk = objective("minimum_risk", model, sharpness=sharpness, likelihood=0.0, reward="chrf")
    monkeypatch.setattr(risk, "sampled", lambda batch: [some])
    known = [GIVEN, (4, 4), (EOS,)]
    powers = log_probs(model, known).exp() ** sharpness
    wanted = (powers / powers.sum() * (1 - rewards(known, GIVEN, "chrf"))).sum()
    loss = risk.loss(batch_of([GIVEN]), "model")
    assert_close(loss.sum, wanted, atol=1e-6, rtol=0)
    assert_close(loss.parts["reward"].item(), rewards(known[1:], GIVEN, "chrf").mean().item())


@pytest.mark.parametrize("baseline", ["greedy", "others"])
def test_self_critical_gradients_add_up_to_that_of_the_expected_reward(model, monkeypatch, assert_agrees, baseline):
    """Each pair of draws by its probability: neither baseline takes anything from the sum. |y| is 2."""
    every, batch = every_target(), batch_of([GIVEN])
    policy = objective("self_critical", model, samples=2, likelihood=0.0, baseline=baseline)
    chances = log_probs(model, every)
    exact = gradient(-(chances.exp() * rewards(every, GIVEN)).sum() / 2, model)
    whole, shares = torch.zeros_like(exact), chances.detach().exp()
    for one, first in zip(every, shares, strict=True):
        for other, second in zip(every, shares, strict=True):
            monkeypatch.setattr(policy, "sampled", lambda batch, pair=(one, other): [[*pair]])
            whole += first * second * gradient(policy.loss(batch, "model").sum, model)
    assert_agrees("F15", whole, exact, 1e-6)


def test_self_critical_baseline_is_the_greedy_answer(model, monkeypatch):
    ((best,),) = search_with(model, GreedySearch(), batch_of([GIVEN]))
    answer, other = ids_of(best), GIVEN
    policy = objective("self_critical", model, samples=2, likelihood=0.0, baseline="greedy")
    monkeypatch.setattr(policy, "sampled", lambda batch: [[answer, other]])
    own, known = rewards([answer, other], GIVEN)
    assert own != known
    wanted = -(known - own) * log_probs(model, [other])[0] / 2 / len(GIVEN)
    assert_close(policy.loss(batch_of([GIVEN]), "model").sum, wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_a_reward_that_is_always_the_same_has_no_gradient(name, model, monkeypatch):
    built = objective(name, model, likelihood=0.0)
    monkeypatch.setattr(built, "reward", lambda targets, batch: torch.ones(sum(map(len, targets))))
    assert_close(gradient(built.loss(BATCH, "model").sum, model), torch.zeros_like(model.table))


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_the_given_target_adds_its_mean_loss(name, model):
    losses = []
    for weight in (0.0, 0.5):
        torch.manual_seed(1)
        losses.append(objective(name, model, likelihood=weight, label_smoothing=0.2).loss(BATCH, "model").sum)
    means = model.nll(BATCH, smoothing=0.2).sum(dim=-1) / torch.tensor([2, 3])
    assert_close(losses[1] - losses[0], 0.5 * means.sum())


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_draws_are_of_torchs_seed(name, model):
    built, losses = objective(name, model), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(float(built.loss(BATCH, "model").sum.detach()))
    assert losses[0] == losses[1] != losses[2]


def test_draws_have_the_probabilities_of_the_model(model):
    torch.manual_seed(0)
    drawn = objective("minimum_risk", model, samples=900).sampled(batch_of([GIVEN]))[0]
    chances = dict(zip(every_target(), log_probs(model, every_target()).exp().tolist(), strict=True))
    for target, chance in chances.items():
        assert abs(drawn.count(target) / 900 - chance) < 5 * (chance * (1 - chance) / 900) ** 0.5 + 1e-9


def test_the_reward_rises_where_it_is_trained(model):
    every = every_target()
    before = (log_probs(model, every).exp() * rewards(every, GIVEN)).sum().item()
    optimizer, built = torch.optim.SGD([model.table], 4.0), objective("self_critical", model, likelihood=0.0)
    for _ in range(30):
        optimizer.zero_grad()
        built.loss(batch_of([GIVEN]), "model").sum.backward()
        optimizer.step()
    assert (log_probs(model, every).exp() * rewards(every, GIVEN)).sum().item() > before + 0.2


def test_one_draw_has_no_others(model):
    with pytest.raises(ConfigError, match=r"objective\.samples: one sample has no others"):
        objective("self_critical", model, samples=1)


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_penalties_beside_drawn_targets_are_refused(name, model):
    with pytest.raises(ConfigError, match="penalties: weigh what attention saw of given targets"):
        PenalisedObjective(objective(name, model), build_penalties([Choice("overlap")]))


@pytest.mark.parametrize("name", ["minimum_risk", "self_critical"])
def test_what_cannot_be_rewarded_is_told(name, model):
    with pytest.raises(ConfigError, match=r"objective\.reward: 'length_ratio'"):
        objective(name, model, reward="length_ratio")
