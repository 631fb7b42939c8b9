"""Key-value and key-value-predict attention against a loop over the steps."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import recording
from regard.errors import ConfigError
from regard.layers.key_value import STATE_PARTS, KeyValueLayer
from regard.ops.plain import plain

DIM, LENGTH, WINDOW = 6, 9, 3
LENGTHS = [9, 5, 1, 0]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def build(mode: str, window: int = WINDOW) -> KeyValueLayer:
    torch.manual_seed(7)
    layer = KeyValueLayer(DIM, mode=mode, window=window).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    return layer.requires_grad_(False)


@pytest.fixture(params=STATE_PARTS)
def layer(request: pytest.FixtureRequest) -> KeyValueLayer:
    return build(request.param)


def loop(layer: KeyValueLayer, mode: str, states: Tensor) -> Tensor:
    """states (n, input_dim) of one sentence → (n, dim), with a list of what came before."""
    score, outputs, before = layer.own.score, [], []
    for state in states:
        parts = state.split(layer.dim)
        key, value, predicting = {"plain": (0, 0, 0), "key_value": (0, 1, 1), "key_value_predict": (0, 1, 2)}[mode]
        read = torch.zeros(layer.dim, dtype=torch.float64)
        seen = before[-layer.window :]
        if seen:
            hidden = [torch.tanh(score.from_key.weight @ k + score.from_query.weight @ parts[key]) for k, _ in seen]
            weights = torch.stack([score.to_score.weight[0] @ one for one in hidden]).softmax(dim=0)
            read = sum(weight * v for weight, (_, v) in zip(weights, seen, strict=True))
        outputs.append(torch.tanh(layer.from_context.weight @ read + layer.from_state.weight @ parts[predicting]))
        before.append((parts[key], parts[value]))
    return torch.stack(outputs) if outputs else states.new_zeros(0, layer.dim)


@pytest.mark.parametrize("mode", STATE_PARTS)
@pytest.mark.parametrize("window", [1, WINDOW, 20])
def test_equals_a_loop_over_the_steps(mode, window, assert_agrees):
    layer, states = build(mode, window), random(len(LENGTHS), LENGTH, DIM)
    outputs, _ = layer(states, MASK)
    assert outputs.shape == (len(LENGTHS), LENGTH, layer.dim) and layer.dim == DIM // STATE_PARTS[mode]
    for row, length in enumerate(LENGTHS):
        assert_agrees("A19", outputs[row, :length], loop(layer, mode, states[row, :length]))


@pytest.mark.parametrize("mode", STATE_PARTS)
def test_long_texts_by_the_kernel_for_windows_in_values_and_gradients(mode, assert_agrees):
    layer, states = build(mode), random(2, 130, DIM).requires_grad_()
    mask = torch.arange(130) < torch.tensor([[130], [67]])

    def run() -> list[Tensor]:
        outputs = layer(states, mask)[0].masked_fill(~mask.unsqueeze(-1), 0.0)
        return [outputs, *torch.autograd.grad(outputs.square().sum(), states)]

    fast = run()
    assert_agrees("A19", fast[0][0].detach(), loop(layer, mode, states[0].detach()))
    with plain():
        assert_close(fast, run())


@pytest.mark.parametrize("length", [0, 1, WINDOW, LENGTH])
def test_no_more_than_a_window_is_remembered(layer, length):
    _, past = layer(random(len(LENGTHS), length, DIM), MASK[:, :length])
    assert past.keys.shape[1] == min(length, WINDOW)


def test_the_first_state_reads_nothing(layer):
    states = random(2, 1, DIM)
    predicting = states.split(layer.dim, dim=-1)[-1]
    assert_close(layer(states, None)[0], torch.tanh(layer.from_state(predicting)))


def test_the_three_parts_tied_are_the_plain_form(assert_agrees):
    one = build("plain")
    state = random(2, LENGTH, DIM)
    for mode, parts in (("key_value", 2), ("key_value_predict", 3)):
        other = KeyValueLayer(parts * DIM, mode=mode, window=WINDOW).double().requires_grad_(False)
        other.load_state_dict(one.state_dict())
        assert_agrees("A19", other(torch.cat([state] * parts, dim=-1), None)[0], one(state, None)[0])


def test_weights_are_recorded_and_reach_no_further_than_the_window(layer):
    with recording(layer) as records:
        layer(random(2, LENGTH, DIM), None)
    weights = records["own"].answers[0].weights
    distance = torch.arange(LENGTH).unsqueeze(-1) - torch.arange(LENGTH)
    seen = (distance >= 1) & (distance <= WINDOW)
    assert bool((weights[:, ~seen] == 0).all()) and bool((weights[:, seen] > 0).all())


@pytest.mark.parametrize(
    ("dim", "chosen", "said"),
    [
        (7, {"mode": "key_value"}, "mode: 'key_value' splits states in 2 equal parts, but their dim is 7"),
        (8, {}, "mode: 'key_value_predict' splits states in 3 equal parts, but their dim is 8"),
    ],
)
def test_impossible_settings_are_refused(dim, chosen, said):
    with pytest.raises(ConfigError, match=said):
        KeyValueLayer(dim, **chosen)
