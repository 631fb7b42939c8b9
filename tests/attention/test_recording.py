"""What is recorded of a model: everything it looked at, in order, and without a change to what it says."""

import pytest
import torch
from networks import build_translator
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Attention, recording
from regard.models import ROUTE, AttentionSettings, Translator, build_attention
from regard.records import BOS, PAD, Batch, Sequences
from regard.registry import Choice

DIM, HEADS, LAYERS = 8, 2, 2


@pytest.fixture
def model() -> Translator:
    settings = dict(
        dim=DIM,
        encoder=Choice("transformer", {"num_layers": LAYERS, "feedforward_dim": 8}),
        decoder=Choice("transformer", {"num_layers": LAYERS, "feedforward_dim": 8}),
        attention=AttentionSettings(num_heads=HEADS),
        self_attention=AttentionSettings(num_heads=HEADS, dropout=0.2),
        dropout=0.2,
    )
    return build_translator(settings, 9, 9).double()


@pytest.fixture
def batch() -> Batch:
    ids = torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0]])
    rows = Sequences(ids, ids != PAD)
    return Batch({"source": rows, "target": rows}, ROUTE, torch.arange(2), 6)


def hooks(model: nn.Module) -> int:
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules())


def test_every_attention_answers_under_its_own_name(model, batch):
    with recording(model) as records:
        model.nll(batch)
    layers = range(LAYERS)
    wanted = [f"encoders.{ROUTE}.encoder.blocks.{layer}.own" for layer in layers]
    wanted += [f"decoders.{ROUTE}.blocks.{layer}.{which}" for layer in layers for which in ("own", "cross")]
    named = dict(model.named_modules())
    assert sorted(records) == sorted(wanted)
    assert all(isinstance(named[name], Attention) for name in records)
    assert [len(seen.answers) for seen in records.values()] == [1] * len(wanted)
    for _, (answer,) in records.values():
        assert answer.weights.shape == (2, HEADS, 4, 4)
    hidden = records[f"decoders.{ROUTE}.blocks.0.cross"].answers[0].weights[1, :, :, 2:]
    assert bool((hidden == 0).all())


def test_calls_are_collected_in_their_order(model, batch):
    """Word by word gives the rows of all words at once."""
    model.eval()
    read = torch.cat([torch.full((2, 1), BOS), batch.columns["target"].items[:, :-1]], dim=1)
    with recording(model) as whole:
        model.nll(batch)
    with recording(model) as steps:
        state = model.start(batch)
        for ids in read.split(1, dim=1):
            _, state = model.step(ids, state)
    name = f"decoders.{ROUTE}.blocks.1.cross"
    assert len(steps[name].answers) == 4
    assert_close(torch.cat([answer.weights for answer in steps[name].answers], dim=-2), whole[name].answers[0].weights)
    own = [answer.weights.shape[-1] for answer in steps[f"decoders.{ROUTE}.blocks.1.own"].answers]
    assert own == [1, 2, 3, 4]  # the cache grows


@pytest.mark.parametrize("training", [False, True])
def test_recording_changes_no_loss_gradient_or_draw(training, model, batch):
    model.train(training)

    def run() -> list[Tensor]:
        torch.manual_seed(3)
        losses = model.nll(batch)
        return [losses, *torch.autograd.grad(losses.sum(), list(model.parameters())), torch.rand(1)]

    before = run()
    with recording(model):
        during = run()
    assert_close(during, before, rtol=0, atol=0)
    assert_close(run(), before, rtol=0, atol=0)


def test_hooks_are_gone_after_a_fault_too(model, batch):
    with pytest.raises(KeyError, match="halt"), recording(model) as records:
        model.nll(batch)
        assert hooks(model) == 2 * len(records)
        raise KeyError("halt")
    assert hooks(model) == 0
    kept = {name: len(seen.answers) for name, seen in records.items()}
    model.nll(batch)
    assert {name: len(seen.answers) for name, seen in records.items()} == kept


def test_two_recordings_at_once_each_see_all(model, batch):
    with recording(model) as outer:
        model.nll(batch)
        with recording(model) as inner:
            model.nll(batch)
        model.nll(batch)
    assert {len(seen.answers) for seen in outer.values()} == {3}
    assert {len(seen.answers) for seen in inner.values()} == {1}


def test_a_part_of_a_model_may_be_recorded_alone(model, batch):
    with recording(model.encoders[ROUTE]) as records:
        model.nll(batch)
    assert sorted(records) == [f"encoder.blocks.{layer}.own" for layer in range(LAYERS)]


def test_a_model_without_attention_has_nothing_to_tell():
    with recording(nn.Linear(2, 2)) as records:
        assert records == {}


class Looks(nn.Module):
    """Looks twice with one attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = build_attention(AttentionSettings(num_heads=HEADS), DIM, DIM)

    def forward(self, states: Tensor) -> Tensor:
        memory = self.attention.remember(states)
        return self.attention(self.attention(states, memory).context, memory).context


@pytest.mark.parametrize("warm", [False, True])
def test_a_compiled_model_is_recorded_as_itself_and_says_the_same(warm):
    plain = Looks().double().eval()
    compiled, states = torch.compile(plain, backend="eager"), torch.randn(2, 5, DIM, dtype=torch.float64)
    wanted = compiled(states) if warm else plain(states)
    with recording(compiled) as records:
        assert_close(compiled(states), wanted)
    assert list(records) == ["attention"] and len(records["attention"].answers) == 2
    with recording(plain) as again:
        plain(states)
    assert_close(
        [one.weights for one in records["attention"].answers], [one.weights for one in again["attention"].answers]
    )
    assert hooks(plain) == 0
    assert_close(compiled(states), wanted)
