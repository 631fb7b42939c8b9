"""The contract of recurrent layers, and adapters of torch's networks."""

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.layers.layer import Layer
from regard.ops.plain import is_plain

Past = tuple[Tensor, ...]  # batch first; the visible state (batch, dim) comes first


class Recurrent(Layer):
    """Reads left to right. Built with (input_dim, dim). A padded step keeps the state; its output is zero."""

    @abstractmethod
    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim), mask (batch, n) of rows padded on the right → outputs (batch, n, dim), past."""

    @abstractmethod
    def nothing(self, inputs: Tensor) -> Past:
        """Return the past of rows without input."""

    def begun(self, state: Tensor) -> Past:
        """Return the past of rows that start from a state (batch, dim), as in a decoder; the rest is empty."""
        return state, *self.nothing(state)[1:]


def last(outputs: Tensor, mask: Tensor | None, before: Tensor) -> Tensor:
    """Return the last unpadded output (batch, dim) of (batch, n, dim), or `before` (batch, dim) without one."""
    if not outputs.shape[1]:
        return before
    if mask is None:
        return outputs[:, -1]
    lengths = mask.sum(dim=1, keepdim=True)
    found = outputs.take_along_dim((lengths - 1).clamp(min=0).unsqueeze(-1), dim=1).squeeze(1)
    return torch.where(lengths > 0, found, before)


def run(network: nn.RNNBase, inputs: Tensor, mask: Tensor | None, past: Past) -> tuple[Tensor, Past]:
    """Run one of torch's networks of one layer and direction over rows of different lengths."""
    if 0 in inputs.shape[:2]:  # torch cannot pack an empty batch
        return inputs.new_zeros(*inputs.shape[:2], network.hidden_size), past
    start = tuple(one.unsqueeze(0) for one in past)
    given = start if len(start) > 1 else start[0]
    if mask is None or (is_plain() and bool(mask.all())):
        outputs, end = network(inputs, given)
        return outputs, _past(end)
    lengths = mask.sum(dim=1)
    packed = pack_padded_sequence(inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
    outputs, end = network(packed, given)
    outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
    some = (lengths > 0).unsqueeze(-1)  # packing needs at least one step; the result of an empty row is dropped
    kept = tuple(torch.where(some, new, old) for new, old in zip(_past(end), past, strict=True))
    return outputs.masked_fill(~mask.unsqueeze(-1), 0.0), kept


def initialise(network: nn.RNNBase) -> None:
    """Set orthogonal recurrent weights per gate (https://arxiv.org/abs/1409.0473, appendix B.1), and zero biases."""
    size = network.hidden_size
    for name, parameter in network.named_parameters():
        if name.startswith("weight_hh"):
            for gate in parameter.data.split(size):
                nn.init.orthogonal_(gate)
        elif name.startswith("weight"):
            for gate in parameter.data.split(size):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)


def _past(end: Tensor | tuple[Tensor, ...]) -> Past:
    return (end.squeeze(0),) if isinstance(end, Tensor) else tuple(one.squeeze(0) for one in end)
