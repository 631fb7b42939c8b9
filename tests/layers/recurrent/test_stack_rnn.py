"""The stack-augmented network against its equations, one step and one number at a time."""

import math

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.layers.recurrent.stack_rnn import StackRnnLayer

INPUT, DIM, STACKS, DEPTH, LENGTH = 3, 4, 2, 5, 6


def build(*, recurrent: bool = True, depth: int = DEPTH) -> StackRnnLayer:
    layer = StackRnnLayer(INPUT, DIM, num_stacks=STACKS, depth=depth, recurrent=recurrent).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    return layer.requires_grad_(False)


def sigmoid(number: float) -> float:
    return 1 / (1 + math.exp(-number))


def loop(layer: StackRnnLayer, inputs: list[list[float]]) -> tuple[list[list[float]], list[list[float]]]:
    """Equations 3 to 6 of the paper, for one row → its states, and the stacks in the end."""
    u, bias = layer.from_input.weight.tolist(), layer.from_input.bias.tolist()
    p, a, d = (one.weight.tolist() for one in (layer.from_tops, layer.head.to_actions, layer.head.to_value))
    r = layer.from_state.weight.tolist() if layer.from_state is not None else [[0.0] * DIM] * DIM
    state, stacks, states = [0.0] * DIM, [[-1.0] * DEPTH for _ in range(STACKS)], []
    for x in inputs:
        tops = [number for stack in stacks for number in stack[:2]]
        read = zip(u, r, p, bias, strict=True)
        state = [sigmoid(dot(ui, x) + dot(ri, state) + dot(pi, tops) + bi) for ui, ri, pi, bi in read]
        for number, old in enumerate(stacks):
            raw = [math.exp(dot(a[3 * number + action], state)) for action in range(3)]
            push, pop, stay = (one / sum(raw) for one in raw)
            above, below = [sigmoid(dot(d[number], state)), *old[:-1]], [*old[1:], -1.0]
            stacks[number] = [push * i + pop * j + stay * k for i, j, k in zip(above, below, old, strict=True)]
        states.append(state)
    return states, stacks


def dot(one: list[float], other: list[float]) -> float:
    return sum(i * j for i, j in zip(one, other, strict=True))


@pytest.mark.parametrize("recurrent", [True, False])
def test_all_steps_equal_the_equations(recurrent, assert_agrees):
    layer, inputs = build(recurrent=recurrent), torch.randn(2, LENGTH, INPUT, dtype=torch.float64)
    outputs, (state, stacks) = layer(inputs, None)
    for row in range(2):
        states, held = loop(layer, inputs[row].tolist())
        assert_agrees("D15", outputs[row], exact(states))
        assert_agrees("D15", stacks[row], exact(held))
    assert_close(state, outputs[:, -1])


def exact(numbers: list[list[float]]) -> Tensor:
    return tensor(numbers, dtype=torch.float64)


def test_a_stack_of_depth_one_shows_an_empty_place_below():
    layer = build(depth=1)
    _, (_, stacks) = layer(torch.randn(2, LENGTH, INPUT, dtype=torch.float64), None)
    assert stacks.shape == (2, STACKS, 2)  # what is seen is held


def test_it_counts_when_weights_are_set_by_hand():
    """State 0 says a, state 1 says b: a pushes 1, b pops; the top is -1 after as many b as a, and not before."""
    layer = StackRnnLayer(2, 2, num_stacks=1, depth=9, recurrent=False).double().requires_grad_(False)
    for parameter in layer.parameters():
        parameter.zero_()
    layer.from_input.weight.copy_(200 * torch.eye(2))
    layer.from_input.bias.fill_(-100)
    layer.head.to_actions.weight.copy_(tensor([[100, 0], [0, 100], [0, 0]]))  # push, pop, leave alone
    layer.head.to_value.weight.fill_(100)
    word = torch.eye(2, dtype=torch.float64)
    for count in range(1, 9):
        past = None
        for number in range(2 * count):
            _, past = layer(word[int(number >= count)].view(1, 1, 2), None, past)
            top = past[1][0, 0, 0].item()
            assert top == pytest.approx(-1.0 if number == 2 * count - 1 else 1.0)
