"""Updates: several batches are one, gradients are clipped as by hand, what is no number changes nothing."""

import copy
import math

import pytest
import torch
from streaming import batch_at
from torch import nn
from torch.testing import assert_close

from regard.errors import ConfigError, TrainingError
from regard.objectives import Context, LikelihoodObjective, Objective
from regard.records import Batch, Loss
from regard.registry import Choice
from regard.training.settings import TrainingSettings, TurnSettings
from regard.training.updater import Updater

EXACT = {"rtol": 0, "atol": 1e-12}


def updater_of(model, objective=None, **changes):
    given = {"optimizer": Choice("sgd"), "schedule": Choice("constant"), "precision": "float32", "clip_norm": 0.0}
    settings = TrainingSettings(**{**given, "learning_rate": 0.1, **changes})
    return Updater(model, objective or Squares(Context(model)), settings)


class Squares(Objective):
    """Half the square of (inputs · weight - outputs), summed over rows."""

    def halves(self, batch):
        if len(batch.lines) == 1:
            return [batch]
        parts = torch.arange(len(batch.lines)).chunk(2)
        return [batch.select(part)._replace(count=len(part)) for part in parts]

    def loss(self, batch, turn):
        error = self.context.model(batch.columns["x"]).squeeze(-1) - batch.columns["y"]
        return Loss((error**2).sum() / 2, batch.count, {})


class Duel(Squares):
    """Two turns: the critic learns to be what the model says, then the model learns to be what the critic says."""

    turns = ("critic", "model")

    def __init__(self, context):
        super().__init__(context)
        self.critic = nn.Linear(2, 1, bias=False).double()

    def parameters_of(self, turn):
        return self.critic.parameters() if turn == "critic" else super().parameters_of(turn)

    def loss(self, batch, turn):
        error = self.critic(batch.columns["x"]) - self.context.model(batch.columns["x"])
        return Loss((error**2).sum() / 2, batch.count, {})


def rows(count, seed=0, scale=1.0):
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 2, generator=draws, dtype=torch.float64) * scale
    y = torch.randn(count, generator=draws, dtype=torch.float64)
    return Batch({"x": x, "y": y}, "r", torch.arange(100, 100 + count), count)


def joined(*batches):
    columns = {name: torch.cat([batch.columns[name] for batch in batches]) for name in batches[0].columns}
    return Batch(columns, "r", torch.cat([batch.lines for batch in batches]), sum(batch.count for batch in batches))


@pytest.fixture
def line():
    return nn.Linear(2, 1, bias=False).double()


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_several_batches_are_one_large_batch(line, optimizer, clip_norm):
    other, parts = copy.deepcopy(line), [rows(1, 1), rows(7, 2), rows(3, 3)]
    settings = {"optimizer": Choice(optimizer), "clip_norm": clip_norm}
    several, large = updater_of(line, **settings), updater_of(other, **settings)
    for number in range(1, 6):
        mine, yours = several.update(parts, number), large.update([joined(*parts)], number)
        assert mine.tokens == yours.tokens
        assert mine.turns["model"][:2] == pytest.approx(yours.turns["model"][:2], rel=1e-12)
    assert_close(line.weight, other.weight, **EXACT)


def test_two_batches_of_translation_are_two_halves_of_one(tiny, batches):
    models = [tiny(dropout=0.0).double() for _ in range(2)]
    whole = batch_at(batches(), 0, 0)
    halves = [
        whole._replace(
            columns={name: type(side)(*(part[some] for part in side)) for name, side in whole.columns.items()},
            lines=whole.lines[some],
            count=int(whole.columns["target"].mask[some].sum()),
        )
        for some in (slice(0, 3), slice(3, None))
    ]
    for model, given in zip(models, (halves, [whole]), strict=True):
        updater_of(model, LikelihoodObjective(Context(model))).update(given, 1)
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert_close(one, other, **EXACT)


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns of what torch does
@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [({"precision": "bf16"}, 0.02), pytest.param({"compile": True}, 1e-5, marks=pytest.mark.slow)],
    ids=["bf16", "compile"],
)
def test_a_quicker_forward_is_nearly_the_same_update(tiny, batches, changes, tolerance):
    plain, quick = tiny(dropout=0.0), tiny(dropout=0.0)
    for number in range(3):
        batch = batch_at(batches(), 0, number)
        updates = [
            updater_of(model, LikelihoodObjective(Context(model)), **more).update([batch], 1)
            for model, more in ((plain, {}), (quick, changes))
        ]
        assert updates[0].tokens == updates[1].tokens
        exact, near = (update.turns["model"] for update in updates)
        assert_close(near.loss, exact.loss, rtol=tolerance, atol=0)
        assert_close(near.norm, exact.norm, rtol=4 * tolerance, atol=0)
        assert (exact.loss != near.loss) or not changes.get("precision")
    for name, weights in plain.state_dict().items():
        assert weights.dtype == quick.state_dict()[name].dtype == torch.float32


def test_an_update_by_hand(line):
    batch, before = rows(5), line.weight.detach().clone()
    x, y = batch.columns["x"], batch.columns["y"]
    error = x @ before[0] - y
    gradient = (x * error[:, None]).mean(0)
    done = updater_of(line, learning_rate=0.3).update([batch], 1)
    assert_close(line.weight[0], before[0] - 0.3 * gradient, **EXACT)
    assert done.tokens == 5
    wanted = (float((error**2).mean() / 2), float(gradient.norm()), 0.3)
    assert done.turns["model"][:3] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("limit", [1e-3, 0.5, 1e6])
def test_the_mean_gradient_is_clipped_to_its_norm(line, limit, assert_agrees):
    batch, before = rows(5, scale=9), line.weight.detach().clone()
    x, y = batch.columns["x"], batch.columns["y"]
    gradient = (x * (x @ before[0] - y)[:, None]).mean(0)
    step = gradient * min(1, limit / (float(gradient.norm()) + 1e-6))
    done = updater_of(line, clip_norm=limit, learning_rate=1.0).update([batch], 1)
    assert done.turns["model"].norm == pytest.approx(float(gradient.norm()))
    assert_agrees("F04", line.weight[0], before[0] - step, tolerance=EXACT["atol"])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_loss_that_is_no_number_changes_no_weight(line, bad, optimizer):
    broken = rows(3, 1)
    broken.columns["y"][1] = bad
    before = line.weight.detach().clone()
    updater = updater_of(line, optimizer=Choice(optimizer), clip_norm=1.0)
    with pytest.raises(
        TrainingError, match=r"update 1,234 \(examples 100, 101, 102 … of the corpus\).*smaller learning_rate"
    ):
        updater.update([rows(3), broken], 1234)
    assert torch.equal(line.weight, before)
    assert all(not optimizer.state for optimizer in updater.turns.optimizers.values())


@pytest.mark.parametrize("place", ["forward", "step"])
def test_too_little_memory_is_told_with_what_to_do(line, monkeypatch, place):
    updater = updater_of(line)

    def huge(*_: object) -> None:
        torch.empty(2**60, dtype=torch.uint8)

    if place == "forward":
        monkeypatch.setattr(updater, "_forward", huge)
    else:
        monkeypatch.setattr(next(iter(updater.turns.optimizers.values())), "step", huge)
    with pytest.raises(
        TrainingError, match=r"out of memory at update 1,234, with batches of 4,096 tokens; .* training\.batch_tokens"
    ):
        updater.update([rows(3), rows(5)], 1234)


class Narrow(Squares):
    """Has memory for so many rows."""

    def __init__(self, context, most):
        super().__init__(context)
        self.most, self.taken = most, []

    def loss(self, batch, turn):
        self.taken.append(len(batch.lines))
        loss = super().loss(batch, turn)
        if len(batch.lines) > self.most:
            loss.sum.backward()  # what is half done must not count
            torch.empty(2**60, dtype=torch.uint8)
        return loss


def test_a_batch_too_large_for_memory_is_halved(line):
    whole, batch = copy.deepcopy(line), rows(8)
    updater_of(whole).update([rows(3), batch], 1)
    narrow = Narrow(Context(line), most=2)
    updater = updater_of(line, narrow)
    done = updater.update([rows(3), batch], 1)
    assert_close(line.weight, whole.weight, **EXACT)
    assert (done.tokens, updater.halvings) == (11, 2)
    assert narrow.taken == [3, 2, 1, 4, 1, 1, 1, 2, 2, 2, 2]
    updater.update([batch], 2)
    assert narrow.taken[11:] == [2, 2, 2, 2]


def test_one_example_too_large_for_memory_is_told(line):
    with pytest.raises(TrainingError, match="out of memory at update 3"):
        updater_of(line, Narrow(Context(line), most=0)).update([rows(4)], 3)


def test_other_faults_of_an_update_are_not_taken_for_it(line, monkeypatch):
    updater = updater_of(line)
    monkeypatch.setattr(updater, "_forward", lambda *_: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        updater.update([rows(3)], 1)


def test_turns_are_taken_in_order_and_move_only_their_own(line):
    duel, batch = Duel(Context(line)), rows(4)
    critic, model = (one.weight.detach()[0].clone() for one in (duel.critic, line))
    x = batch.columns["x"]
    critic_after = critic - 0.1 * (x * (x @ (critic - model))[:, None]).mean(0)
    model_after = model - 0.1 * (x * (x @ (model - critic_after))[:, None]).mean(0)
    updater_of(line, duel).update([batch], 1)
    assert_close(duel.critic.weight[0], critic_after, **EXACT)
    assert_close(line.weight[0], model_after, **EXACT)
    assert duel.critic.weight.grad is None


def test_each_turn_has_its_own_rate_and_clip_norm(line):
    duel, batch = Duel(Context(line)), rows(4, scale=9)
    critic, model = (one.weight.detach()[0].clone() for one in (duel.critic, line))
    x, own = batch.columns["x"], TurnSettings(learning_rate=0.5, clip_norm=0.01)
    gradient = (x * (x @ (critic - model))[:, None]).mean(0)
    critic_after = critic - 0.5 * gradient * (0.01 / (gradient.norm() + 1e-6))
    model_after = model - 0.1 * (x * (x @ (model - critic_after))[:, None]).mean(0)
    done = updater_of(line, duel, turns={"critic": own}).update([batch], 1)
    assert_close(duel.critic.weight[0], critic_after, **EXACT)
    assert_close(line.weight[0], model_after, **EXACT)
    assert (done.turns["critic"].rate, done.turns["model"].rate) == (0.5, 0.1)
    assert done.turns["critic"].norm == pytest.approx(float(gradient.norm()))


def test_a_turn_may_be_taken_at_every_third_update(line):
    updater = updater_of(line, Duel(Context(line)), turns={"model": TurnSettings(every=3)})
    before, moved = line.weight.detach().clone(), []
    for number in range(1, 7):
        done = updater.update([rows(4, number)], number)
        moved.append((list(done.turns), not torch.equal(line.weight, before)))
        before = line.weight.detach().clone()
    only, both = (["critic"], False), (["critic", "model"], True)
    assert moved == [only, only, both, only, only, both]


def test_an_optimizer_of_its_own(line):
    updater = updater_of(line, Duel(Context(line)), turns={"critic": TurnSettings(optimizer=Choice("adam"))})
    kinds = {name: type(turn.optimizer).__name__ for name, turn in updater.turns.items()}
    assert kinds == {"critic": "Adam", "model": "SGD"}


def test_settings_of_a_turn_that_is_not_there_are_a_fault(line):
    with pytest.raises(ConfigError, match=r"^training\.turns\.critics: is not a turn .* \(did you mean 'critic'\?\)$"):
        updater_of(line, Duel(Context(line)), turns={"critics": TurnSettings()})


def test_numbers_that_an_optimizer_refuses_are_told_by_their_turn(line):
    bad = TurnSettings(optimizer=Choice("sgd", {"nesterov": True}))
    with pytest.raises(ConfigError, match=r"^training\.turns\.critic\.optimizer: sgd: nesterov momentum requires"):
        updater_of(line, Duel(Context(line)), turns={"critic": bad})
