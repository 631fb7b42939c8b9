"""A recurrent network that attends to all of its own states (https://arxiv.org/abs/1601.06733, section 3.1)."""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import OWN, Attention, Memory, Role, stamped
from regard.attention.scores.additive import AdditiveScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.config import Doc
from regard.config.bounds import AnyFloat, Size
from regard.layers.recurrent.recurrent import Past, Recurrent, last
from regard.ops.functional import gathered
from regard.ops.linear import Linear


class LstmnLayer(Recurrent):
    """[h~; c~] = sum_i s_i [h_i; c_i], s = softmax_i(v · tanh(W h_i + W' [x_t; h~_(t-1)])); i, f, o, g from [x_t; h~].

    c_t = f · c~ + i · g, h_t = o · tanh(c_t): the gates of an LSTM, which reads a mix of all states so far in place of
    the last. `memory_size` limits their number; one is an LSTM. h~ and c~ are 0 before the first. Each step queries
    `own` with an equal number of keys: those of the tape, then one per step of the pass, masked until it is computed.

    Cost: O(n²·hidden_dim), one step after the other
    """

    aliases = "long_short_term_memory_network, intra_lstm"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        hidden_dim: Annotated[Size, Doc("Width of the hidden layer of its attention.")] = 128,
        memory_size: Annotated[Size | None, Doc("Number of past states in the memory tape; null: all.")] = None,
        forget_bias: Annotated[AnyFloat, Doc("Initial bias of the forget gate.")] = 1.0,
    ) -> None:
        super().__init__()
        self.dim, self.memory_size = dim, memory_size
        asking = input_dim + dim
        score = AdditiveScore(asking, dim, hidden_dim=hidden_dim)
        own = Attention(score, EverywhereSpan(asking, dim), SoftmaxWeighting(asking))
        self.own = stamped(own, Role(OWN, OWN, causal=True))
        self.from_input, self.from_state = Linear(input_dim, 4 * dim), Linear(dim, 4 * dim, bias=False)
        for weight, make in (
            (self.from_input.weight, nn.init.xavier_uniform_),
            (self.from_state.weight, nn.init.orthogonal_),
        ):
            for gate in weight.data.split(dim):
                make(gate)
        nn.init.zeros_(self.from_input.bias)
        nn.init.constant_(self.from_input.bias.data[dim : 2 * dim], forget_bias)  # i, f, g, o

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, h~, keys, states and mask of the tape)."""
        past = self.nothing(inputs) if past is None else past
        before, read, keys, states, shown = past
        steps = inputs.shape[1] if mask is None else int(mask.sum(dim=1).max()) if mask.numel() else 0
        if not steps:
            return inputs.new_zeros(*inputs.shape[:2], self.dim), past
        real = shown.new_ones(len(inputs), steps) if mask is None else mask[:, :steps]
        shown = torch.cat([shown, real], dim=1)
        from_input, written, reads = self.from_input(inputs).unbind(dim=1), [], []
        for place in range(steps):
            query = torch.cat([inputs[:, place], read], dim=-1).unsqueeze(1)
            read, c = self.own(query, self._memory(keys, states, shown)).context.squeeze(1).chunk(2, dim=-1)
            state, cell = self._step(from_input[place], read, c)
            keys = torch.cat([keys, self.own.score.prepare(state.unsqueeze(1))], dim=1)
            states = torch.cat([states, torch.cat([state, cell], dim=-1).unsqueeze(1)], dim=1)
            written.append(state)
            reads.append(read)
        outputs = torch.stack(written, dim=1).masked_fill(~real.unsqueeze(-1), 0.0)
        ends = last(outputs, real, before), last(torch.stack(reads, dim=1), real, past[1])
        outputs = functional.pad(outputs, (0, 0, 0, inputs.shape[1] - steps))
        return outputs, (*ends, *gathered(shown, self.memory_size, keys, states))

    def nothing(self, inputs: Tensor) -> Past:
        zeros, empty = inputs.new_zeros(len(inputs), self.dim), inputs.new_zeros(len(inputs), 0, self.dim)
        keys = self.own.score.prepare(empty)
        return zeros, zeros, keys, torch.cat([empty, empty], dim=-1), empty[..., 0].bool()

    def begun(self, state: Tensor) -> Past:
        """Return a past with this state as the first on the tape, with c = 0."""
        first = state.unsqueeze(1)
        states = torch.cat([first, torch.zeros_like(first)], dim=-1)
        shown = torch.ones_like(first[..., 0], dtype=torch.bool)
        return state, torch.zeros_like(state), self.own.score.prepare(first), states, shown

    def _memory(self, keys: Tensor, states: Tensor, shown: Tensor) -> Memory:
        """Return the states with the last `memory_size` shown; `shown` (batch, key) has room for those to come."""
        done, width = keys.shape[1], shown.shape[1]
        places = torch.arange(width, device=keys.device)
        near = places < done if self.memory_size is None else (places < done) & (places >= done - self.memory_size)
        room = (0, 0, 0, width - done)
        return Memory(functional.pad(keys, room), functional.pad(states, room), shown & near)

    def _step(self, from_input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return h and c (batch, dim) of x, h~ and c~."""
        i, f, g, o = (from_input + self.from_state(h)).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell
