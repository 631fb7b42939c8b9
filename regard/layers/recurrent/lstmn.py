"""A recurrent network that looks at all of its own states (https://arxiv.org/abs/1601.06733, section 3.1)."""

import torch
from torch import Tensor, nn

from regard.attention.kernels import masked_softmax
from regard.attention.scores.additive import AdditiveScore
from regard.errors import ConfigError
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.linear import Linear


class LstmnLayer(Recurrent):
    """[h~; c~] = sum_i s_i [h_i; c_i], s = softmax_i(v · tanh(W h_i + W' [x_t; h~_(t-1)])); i, f, o, g from [x_t; h~].

    c_t = f · c~ + i · g, h_t = o · tanh(c_t): the gates of an LSTM, which reads a mix of all states written so far in
    place of the last. `tape` keeps that many of them at most; one is an LSTM. h~ and c~ are 0 before the first.
    Cost: n² · hidden_dim, one step after the other.
    """

    def __init__(
        self, input_dim: int, dim: int, *, hidden_dim: int = 128, tape: int | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__()
        if tape is not None and tape < 1:
            raise ConfigError("cell.tape", f"a tape of {tape} states remembers nothing", "give 1 or more, or null")
        self.dim, self.tape = dim, tape
        self.score = AdditiveScore(input_dim + dim, dim, hidden_dim=hidden_dim)
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
        from_input, outputs = self.from_input(inputs).unbind(dim=1), inputs.new_zeros(*inputs.shape[:2], self.dim)
        steps = inputs.shape[1] if mask is None else int(mask.sum(dim=1).max()) if mask.numel() else 0
        written = []
        for place in range(steps):
            real = None if mask is None else mask[:, place : place + 1]
            past = self._step(inputs[:, place], from_input[place], real, past)
            written.append(past[0] if real is None else past[0].masked_fill(~real, 0.0))
        if written:
            outputs = torch.cat([torch.stack(written, dim=1), outputs[:, steps:]], dim=1)
        return outputs, past

    def nothing(self, inputs: Tensor) -> Past:
        """h = h~ = 0 and an empty tape."""
        zeros, empty = inputs.new_zeros(len(inputs), self.dim), inputs.new_zeros(len(inputs), 0, self.dim)
        keys = self.score.prepare(empty)
        return zeros, zeros, keys, torch.cat([empty, empty], dim=-1), empty[..., 0].bool()

    def begun(self, state: Tensor) -> Past:
        """The state is the first on the tape, with c = 0."""
        _, read, *tape = self.nothing(state)
        return state, read, *self._written(state, torch.zeros_like(state), None, *tape)

    def _step(self, x: Tensor, from_input: Tensor, real: Tensor | None, past: Past) -> Past:
        before, read, keys, states, mask = past
        scores = self.score(torch.cat([x, read], dim=-1).unsqueeze(1), keys, None)
        h, c = (masked_softmax(scores, mask.unsqueeze(1)) @ states).squeeze(1).chunk(2, dim=-1)
        i, f, g, o = (from_input + self.from_state(h)).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        state = torch.sigmoid(o) * torch.tanh(cell)
        grown = self._written(state, cell, real, keys, states, mask)
        if real is None:
            return state, h, *grown
        return torch.where(real, state, before), torch.where(real, h, read), *grown

    def _written(
        self, state: Tensor, cell: Tensor, real: Tensor | None, keys: Tensor, states: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The tape with one state more at its end; a row that is padding keeps its own, with a hidden one before."""
        new = self.score.prepare(state.unsqueeze(1)), torch.cat([state, cell], dim=-1).unsqueeze(1)
        shown = mask.new_ones(len(mask), 1)
        grown = []
        for old, one in zip((keys, states, mask), (*new, shown), strict=True):
            longer = torch.cat([old, one], dim=1)
            if real is not None:
                kept = torch.cat([torch.zeros_like(one), old], dim=1)
                longer = torch.where(real if old.dim() == 2 else real.unsqueeze(-1), longer, kept)
            grown.append(longer if self.tape is None else longer[:, -self.tape :])
        return grown[0], grown[1], grown[2]
