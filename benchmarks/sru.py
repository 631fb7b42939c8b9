"""Simple recurrent units against the recurrent networks of torch and an LSTM written step by step.

    python benchmarks/sru.py [--rounds 5] [--shape BATCH STEPS DIM] [--only NAME] [--products torch onednn]

A turn is forward and backward of one layer in float32, down to the gradient of what it read. Compiled, as
a scan over all steps at once, and as a plain loop, the units compute the same; their input width is their own width.
The LSTM step by step has its inputs' product for all steps at once, as the units have. Without a shape: 4, 8 and 32
rows of 32 to 512 steps, 128 and 512 wide. --products: who computes the units' products, MKL (torch) or oneDNN.
"""

import itertools
from collections.abc import Callable
from typing import Literal

import torch
from timing import Contender, learner, race_shapes
from torch import Tensor, nn

from regard.layers.recurrent.kernels import Parts
from regard.layers.recurrent.kernels.choose import loop, scan
from regard.layers.recurrent.kernels.sru import Ended, fused
from regard.layers.recurrent.sru import SruLayer
from regard.ops.linear import Linear, linear
from regard.ops.memory import keep_memory

SHAPES = tuple(itertools.product((4, 8, 32), (32, 128, 512), (128, 512)))  # batch, steps, dim
SECONDS = 0.25  # of a turn at least, so that a short call is timed many times
REFERENCE = "nn.LSTM"
WAYS: dict[str, tuple[Literal[1, 2], Callable[[Parts], Ended]]] = {
    "SRU 2, compiled": (2, fused),
    "SRU 1, compiled": (1, fused),
    "SRU 1, scan": (1, scan),
    "SRU 2, loop": (2, loop),
}
OTHERS = ("nn.LSTM", "nn.GRU", "LSTM step by step", "convolution of 3")


class StepByStep(nn.Module):
    """An LSTM as one writes it in Python."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.from_input, self.from_state = Linear(dim, 4 * dim), Linear(dim, 4 * dim)

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, n, dim) → (batch, n, dim)."""
        h = c = inputs.new_zeros(len(inputs), inputs.shape[2])
        outputs = []
        for gates in self.from_input(inputs).unbind(dim=1):
            i, f, g, o = (gates + self.from_state(h)).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, dim=1)


class Convolution(nn.Module):
    """A window of three words at every place: no recurrence at all."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(dim, dim, 3, padding=1)

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, n, dim) → (batch, n, dim)."""
        return self.convolution(inputs.mT).mT


def contender(name: str, batch: int, steps: int, dim: int) -> Contender:
    """One layer of this kind and width, with the allocator setting of training."""
    keep_memory()
    model, run = _layer(name, dim)
    return learner(model, run, torch.randn(batch, steps, dim, requires_grad=True), SECONDS)


def _layer(name: str, dim: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    if name in WAYS:
        version, way = WAYS[name]
        units = SruLayer(dim, dim, version=version)
        return units, lambda inputs: way(_parts(units, inputs)).outputs
    if name in ("nn.LSTM", "nn.GRU"):
        network = {"nn.LSTM": nn.LSTM, "nn.GRU": nn.GRU}[name](dim, dim, batch_first=True)
        return network, lambda inputs: network(inputs)[0]
    model = StepByStep(dim) if name == "LSTM step by step" else Convolution(dim)
    return model, model


def _parts(units: SruLayer, inputs: Tensor) -> Parts:
    """What the layer's own `forward` hands on to the way it chooses."""
    products = linear(inputs, units.weight).unflatten(-1, (-1, units.dim))
    _, state = units.nothing(inputs)
    return Parts(products, inputs, units.peepholes, units.biases, state, None, units.scale, units.tanh)


def main() -> None:
    """Races at every shape."""
    names, title = (*WAYS, *OTHERS), "{batch} rows, {steps} steps, dim {dim}"
    race_shapes(__doc__, contender, names, SHAPES, title=title, unit="words/s", reference=REFERENCE)


if __name__ == "__main__":
    main()
