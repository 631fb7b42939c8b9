"""Attention over a decoder's own earlier states (https://arxiv.org/abs/1705.04304, section 2.2)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attention, Memory, extend


class IntraPast(NamedTuple):
    """What was written so far, as the attention reads it."""

    last: Tensor  # (rows, dim): the latest state, which the next query is the first to see
    memory: Memory | None = None  # the states before it
    attention: Any = None  # past of the attention
    written: int = 0  # how many states there were


class IntraAttention(nn.Module):
    """c_t = attention(s_t) over s_1 … s_(t-1), and 0 at the first step (equations 6 to 8).

    The attention is causal. Key t is the state before t, and the first one, which there is not, is hidden: so no state
    sees itself.
    """

    def __init__(self, attention: Attention, dim: int) -> None:
        """The attention looks from states of this width at states of this width."""
        super().__init__()
        self.attention, self.context_dim = attention, attention.context_dim(dim)

    def nothing(self, last: Tensor) -> IntraPast:
        """The past before the first state; zeros (rows, dim) stand for the state before it."""
        return IntraPast(last)

    def forward(self, states: Tensor, past: IntraPast) -> tuple[Tensor, IntraPast]:
        """states (rows, n, dim) → contexts (rows, n, context_dim) and the past after them."""
        count = states.shape[1]
        before = torch.cat([past.last.unsqueeze(1), states], dim=1)
        places = torch.arange(past.written, past.written + count, device=states.device)
        mask = (places > 0).expand(len(states), -1)
        memory = extend(past.memory, self.attention.remember(before[:, :-1], mask=mask))
        seen = self.attention(states, memory, past.attention)
        return seen.context, IntraPast(before[:, -1], memory, seen.past, past.written + count)
