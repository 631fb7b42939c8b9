"""Differentiable stacks (https://arxiv.org/abs/1503.01007).

A stack (..., depth) of numbers is a value, its top first; values pushed beyond the depth are dropped at the bottom.
"""

import torch
from torch import Tensor, nn

EMPTY = -1.0  # value of empty cells; pushed values lie between 0 and 1
PUSH, POP, NOOP = range(3)


def empty(*shape: int, like: Tensor) -> Tensor:
    """Return empty stacks (..., depth) with dtype and device of another tensor."""
    return like.new_full(shape, EMPTY)


def update(stack: Tensor, value: Tensor, actions: Tensor) -> Tensor:
    """s_0 = push · value + pop · s_1 + noop · s_0; s_i = push · s_(i-1) + pop · s_(i+1) + noop · s_i.

    stack (..., depth), value (...), actions (..., 3), a distribution over PUSH, POP and NOOP → (..., depth). A pop from
    an empty stack leaves it empty.
    """
    value = value.expand(stack.shape[:-1]).unsqueeze(-1)
    pushed = torch.cat([value, stack[..., :-1]], dim=-1)
    popped = torch.cat([stack[..., 1:], torch.full_like(value, EMPTY)], dim=-1)
    push, pop, noop = actions.unsqueeze(-2).unbind(dim=-1)
    return push * pushed + pop * popped + noop * stack


class StackHead(nn.Module):
    """actions = softmax(A h), value = sigmoid(D h) for each of `num_stacks` stacks, then `update`."""

    aliases = "stack, differentiable_stack_rnn, stack_rnn, stack_augmented_rnn, stack_memory, 栈"

    def __init__(self, state_dim: int, *, num_stacks: int = 10) -> None:
        super().__init__()
        self.num_stacks = num_stacks
        self.to_actions = nn.Linear(state_dim, 3 * num_stacks, bias=False)
        self.to_value = nn.Linear(state_dim, num_stacks, bias=False)

    def forward(self, state: Tensor, stacks: Tensor) -> Tensor:
        """state (batch, state_dim), stacks (batch, num_stacks, depth) → the stacks after one action each."""
        actions = self.to_actions(state).unflatten(-1, (self.num_stacks, 3)).softmax(dim=-1)
        return update(stacks, self.to_value(state).sigmoid(), actions)
