"""Simple recurrent units against the recurrent networks of torch and an LSTM written step by step.

    python benchmarks/sru.py [--rounds 5] [--shape STEPS DIM] [--only NAME ...] [--threads 2] [--json FILE]

A turn is forward and backward of one layer over 32 rows in float32, down to the gradient of what it read. Compiled, as
a scan over all steps at once, and as a plain loop, the units compute the same; their input width is their own width.
The LSTM step by step has its inputs' product for all steps at once, as the units have.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rounds import Contender, learner, machine, race, save, table
from torch import Tensor, nn

from regard.layers.recurrent import RECURRENT
from regard.layers.recurrent import sru as units
from regard.layers.recurrent.kernels import Ended, Parts
from regard.layers.recurrent.kernels.fused import fused
from regard.layers.recurrent.kernels.loop import loop
from regard.layers.recurrent.kernels.scan import scan
from regard.linear import Linear
from regard.memory import keep_memory
from regard.registry import Choice

BATCH = 32
SHAPES = tuple((steps, dim) for dim in (128, 512) for steps in (32, 128, 512))
SECONDS = 0.25  # of a turn at least, so that a short call is timed many times
REFERENCE = "nn.LSTM"
WAYS: dict[str, tuple[int, Callable[[Parts], Ended]]] = {
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


def contender(name: str, steps: int, dim: int) -> Contender:
    """One layer of this kind and width, with the allocator setting of training."""
    keep_memory()
    model, run = _layer(name, dim)
    return learner(model, run, torch.randn(BATCH, steps, dim, requires_grad=True), SECONDS)


def _layer(name: str, dim: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    if name in WAYS:
        version, units.recurrence = WAYS[name]
        layer = RECURRENT.build(Choice("sru", {"version": version}), dim, dim)
        return layer, lambda inputs: layer(inputs, None)[0]
    if name in ("nn.LSTM", "nn.GRU"):
        network = {"nn.LSTM": nn.LSTM, "nn.GRU": nn.GRU}[name](dim, dim, batch_first=True)
        return network, lambda inputs: network(inputs)[0]
    model = StepByStep(dim) if name == "LSTM step by step" else Convolution(dim)
    return model, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="of torch (default 2)")
    parser.add_argument("--shape", type=int, nargs=2, metavar=("STEPS", "DIM"), help="one shape")
    names = (*WAYS, *OTHERS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="these contenders")
    parser.add_argument("--json", type=Path, help="write every figure here")
    chosen = parser.parse_args()
    races: dict[str, Any] = {}
    for steps, dim in SHAPES if chosen.shape is None else (tuple(chosen.shape),):
        title = f"{steps} steps, dim {dim}"
        makes = {name: (contender, (name, steps, dim)) for name in names if name in {*chosen.only, REFERENCE}}
        races[title] = race(makes, chosen.rounds, chosen.threads)
        print(f"\n{title}\n\n{table(races[title], 'words/s', REFERENCE)}", flush=True)
    if chosen.json is not None:
        save(chosen.json, machine(chosen.threads), races)


if __name__ == "__main__":
    main()
