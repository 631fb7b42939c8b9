"""A sliced recurrent network, SRNN(8, 2), against the plain one, by torch and written step by step.

    python benchmarks/sliced_rnn.py [--rounds 5] [--shape BATCH STEPS DIM] [--products torch onednn] [--json FILE]

A turn is forward and backward of the last state of one network of GRUs in float32. Each network is there twice: with
torch's GRU, and with a cell that is called once per step. Without a shape: 512 steps, 64 wide, 4, 8 and 32 rows.
"""

from collections.abc import Callable

import torch
from timing import Contender, learner, race_shapes
from torch import Tensor, nn

from regard.layers.pooling.sliced import SlicedPooling
from regard.layers.recurrent.gru import GruLayer
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.ops.memory import keep_memory
from regard.ops.modules import module_list

SHAPES = ((4, 512, 64), (8, 512, 64), (32, 512, 64))  # batch, steps, dim
SECONDS = 0.25  # of a turn at least
REFERENCE = "GRU step by step"
CONTENDERS = (REFERENCE, "nn.GRU", "SRNN(8, 2) of nn.GRU", "SRNN(8, 2) step by step")


class Stepped(Recurrent):
    """A cell of torch's, called once per step."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim, self.cell = dim, nn.GRUCell(dim, dim)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, dim), no padding → outputs (batch, n, dim), (h,)."""
        (state,) = self.nothing(inputs) if past is None else past
        outputs = []
        for one in inputs.unbind(dim=1):
            state = self.cell(one, state)
            outputs.append(state)
        return torch.stack(outputs, dim=1), (state,)

    def nothing(self, inputs: Tensor) -> Past:
        """h = 0."""
        return (inputs.new_zeros(len(inputs), self.dim),)


def contender(name: str, batch: int, steps: int, dim: int) -> Contender:
    """One network of this kind and width, with the allocator setting of training."""
    keep_memory()
    model, run = _network(name, dim)
    return learner(model, run, torch.randn(batch, steps, dim, requires_grad=True), SECONDS)


def _network(name: str, dim: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    cell: Callable[[], Recurrent] = (lambda: Stepped(dim)) if "step" in name else (lambda: GruLayer(dim, dim))
    if name.startswith("SRNN"):
        pooling = SlicedPooling(dim, slices=8, depth=2)
        pooling.layers = module_list(cell() for _ in pooling.layers)
        return pooling, pooling
    layer = cell()
    return layer, lambda inputs: layer(inputs, None)[1][0]


def main() -> None:
    """Races at every shape."""
    title = "{batch} rows, {steps} steps, dim {dim}"
    race_shapes(__doc__, contender, CONTENDERS, SHAPES, title=title, unit="words/s", reference=REFERENCE)


if __name__ == "__main__":
    main()
