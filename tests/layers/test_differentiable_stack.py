"""Differentiable stacks: identities of pushes and pops, and a loop over the depth."""

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.layers.differentiable_stack import EMPTY, NOOP, POP, PUSH, StackHead, empty, update

BATCH, STACKS, DEPTH, STATE = 2, 3, 5, 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def pure(action: int) -> Tensor:
    return torch.nn.functional.one_hot(tensor(action), 3).double().expand(BATCH, STACKS, 3)


def values() -> Tensor:
    return torch.rand(BATCH, STACKS, dtype=torch.float64)


def filled() -> Tensor:
    return torch.rand(BATCH, STACKS, DEPTH, dtype=torch.float64)


def test_a_mixture_of_actions_by_a_loop_over_the_depth(assert_agrees):
    stacks, value, actions = filled(), values(), random(BATCH, STACKS, 3).softmax(dim=-1)
    after = update(stacks, value, actions)
    for row in range(BATCH):
        for number in range(STACKS):
            old, (push, pop, noop) = stacks[row, number].tolist(), actions[row, number].tolist()
            for place in range(DEPTH):
                above = old[place - 1] if place else value[row, number].item()
                below = old[place + 1] if place + 1 < DEPTH else EMPTY
                wanted = push * above + pop * below + noop * old[place]
                assert_agrees("A31", after[row, number, place], tensor(wanted, dtype=torch.float64))


def test_a_push_shifts_and_what_is_too_deep_falls_out():
    stacks, value = filled(), values()
    after = update(stacks, value, pure(PUSH))
    assert_close(after[..., 0], value)
    assert_close(after[..., 1:], stacks[..., :-1])


def test_a_pop_takes_back_a_push_above_the_deepest_place():
    stacks = filled()
    restored = update(update(stacks, values(), pure(PUSH)), values(), pure(POP))
    assert_close(restored[..., :-1], stacks[..., :-1])
    assert bool((restored[..., -1] == EMPTY).all())  # what fell out does not come back


def test_no_operation_changes_nothing():
    stacks = filled()
    assert_close(update(stacks, values(), pure(NOOP)), stacks)


def test_an_empty_stack_stays_empty_when_popped():
    stacks = empty(BATCH, STACKS, DEPTH, like=values())
    assert stacks.dtype == torch.float64 and bool((stacks == EMPTY).all())
    assert_close(update(stacks, values(), pure(POP)), stacks)


def test_last_in_first_out():
    stacks, pushed = empty(BATCH, STACKS, DEPTH, like=values()), [values() for _ in range(DEPTH)]
    for value in pushed:
        stacks = update(stacks, value, pure(PUSH))
    for value in reversed(pushed):
        assert_close(stacks[..., 0], value)
        stacks = update(stacks, value, pure(POP))
    assert bool((stacks == EMPTY).all())


def test_a_depth_of_one_keeps_the_last_value():
    stacks = empty(BATCH, STACKS, 1, like=values())
    value = values()
    stacks = update(stacks, value, pure(PUSH))
    assert_close(stacks[..., 0], value)
    assert bool((update(stacks, value, pure(POP)) == EMPTY).all())


def test_a_head_acts_on_each_stack_by_itself(assert_agrees):
    head = StackHead(STATE, num_stacks=STACKS).double().requires_grad_(False)
    state, stacks = random(BATCH, STATE), filled()
    after = head(state, stacks)
    for number in range(STACKS):
        actions = (state @ head.to_actions.weight[3 * number : 3 * number + 3].T).softmax(dim=-1)
        value = (state @ head.to_value.weight[number]).sigmoid()
        assert_agrees("A31", after[:, number], update(stacks[:, number], value, actions))


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_gradients_are_those_of_finite_differences(depth):
    inputs = (
        filled()[..., :depth].requires_grad_(),
        values().requires_grad_(),
        random(BATCH, STACKS, 3).requires_grad_(),
    )
    assert torch.autograd.gradcheck(lambda stack, value, said: update(stack, value, said.softmax(dim=-1)), inputs)
