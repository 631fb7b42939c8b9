"""A recurrent network with stacks (https://arxiv.org/abs/1503.01007), which can count and remember in order."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import Size
from regard.layers.differentiable_stack import StackHead, empty
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.ops.linear import Linear

SEEN = 2  # numbers at the top of a stack that the next step reads


class StackRnnLayer(Recurrent):
    """h_t = sigmoid(U x_t + R h_(t-1) + P [tops of the stacks]); then each stack is pushed, popped or left alone.

    A step reads the two top numbers of each of `num_stacks` stacks after the previous step; the pushed value is
    sigmoid(D h_t), the action softmax(A h_t): see `update`. Empty cells are -1. Without `recurrent` R is 0: then the
    stacks are the only memory.

    Cost: O(n·hidden_dim² + n·num_stacks·depth), one step after the other
    """

    aliases = "stack_augmented, stack_augmented_recurrent, joulin_mikolov"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        num_stacks: Annotated[Size, Doc("Number of stacks.")] = 10,
        depth: Annotated[Size, Doc("Stack depth; values pushed beyond it are dropped.")] = 100,
        recurrent: Annotated[bool, Doc("Recurrent connection from the last hidden state.")] = True,
    ) -> None:
        super().__init__()
        self.dim, self.num_stacks, self.depth = dim, num_stacks, depth
        self.from_input, self.from_tops = Linear(input_dim, dim), nn.Linear(num_stacks * SEEN, dim, bias=False)
        self.from_state = nn.Linear(dim, dim, bias=False) if recurrent else None
        self.head = StackHead(dim, num_stacks=num_stacks)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, stacks (batch, num_stacks, depth))."""
        state, stacks = self.nothing(inputs) if past is None else past
        outputs = []
        for place, from_input in enumerate(self.from_input(inputs).unbind(dim=1)):
            total = from_input + self.from_tops(stacks[..., :SEEN].flatten(1))
            if self.from_state is not None:
                total = total + self.from_state(state)
            after = torch.sigmoid(total)
            held = self.head(after, stacks)
            output = after
            if mask is not None:
                real = mask[:, place].unsqueeze(-1)
                output = after.masked_fill(~real, 0.0)
                after, held = torch.where(real, after, state), torch.where(real.unsqueeze(-1), held, stacks)
            state, stacks = after, held
            outputs.append(output)
        if not outputs:
            return inputs.new_zeros(*inputs.shape[:2], self.dim), (state, stacks)
        return torch.stack(outputs, dim=1), (state, stacks)

    def nothing(self, inputs: Tensor) -> Past:
        stacks = empty(len(inputs), self.num_stacks, max(self.depth, SEEN), like=inputs)
        return inputs.new_zeros(len(inputs), self.dim), stacks
