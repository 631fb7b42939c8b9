"""The residual blocks of ByteNet: https://arxiv.org/abs/1610.10099, section 3.6 and figure 3."""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from regard.config import Doc, note
from regard.layers.convolutional.convolution import Convolution
from regard.layers.layer import Layer
from regard.layers.normalisation import NORMALISATIONS, Normalisation
from regard.ops.linear import Linear
from regard.ops.modules import module_list
from regard.registry import Choice


class MultiplicativeUnit(Layer):
    """g1 · tanh(g2 · h + g3 · u); g1, g2, g3 = sigmoid(W * h + b), u = tanh(W * h + b): an LSTM's cell with no past.

    All four convolutions are one.
    """

    def __init__(self, dim: int, *, kernel: int = 3, dilation: int = 1, causal: bool = True) -> None:
        super().__init__()
        self.dim = dim
        self.convolution = Convolution(dim, 4 * dim, kernel=kernel, dilation=dilation, causal=causal)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, Any]:
        """h (batch, n, dim) → (batch, n, dim), the past of the convolution."""
        convolved, past = self.convolution(inputs, mask, past)
        gates, update = convolved.split([3 * self.dim, self.dim], dim=-1)
        first, second, third = gates.sigmoid().chunk(3, dim=-1)
        return first * torch.tanh(second * inputs + third * update.tanh()), past


class Chain(Layer):
    """Each layer reads the outputs of the one below, under the same mask."""

    def __init__(self, input_dim: int, layers: Sequence[Layer]) -> None:
        """`input_dim` is also the width of its outputs if there are no layers."""
        super().__init__()
        self.layers = module_list(layers)
        self.dim = layers[-1].dim if layers else input_dim

    def forward(
        self, inputs: Tensor, mask: Tensor | None, past: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim) and a past per layer."""
        pasts, outputs = [], inputs
        for number, layer in enumerate(self.layers):
            outputs, after = layer(outputs, mask, None if past is None else past[number])
            pasts.append(after)
        return outputs, tuple(pasts)


BlockKind = Annotated[Literal["relu", "multiplicative"], Doc("Type of the residual blocks.")]


class ResidualBlock(Layer):
    """x + f(x), through a middle of half the width: 1×1 convolution to dim / 2, 1×kernel there, 1×1 back to dim.

    relu: norm, ReLU before each of the three. multiplicative: norm before the first and before the middle one, which is
    a multiplicative unit. `norm` is layer normalisation (the paper's second version), or that of the first version.
    """

    def __init__(
        self,
        dim: int,
        *,
        kind: BlockKind = "relu",
        kernel: int = 3,
        dilation: int = 1,
        causal: bool = True,
        norm: Normalisation = Choice("layer"),
    ) -> None:
        """`dim` is that of the block's inputs, 2d in the paper."""
        super().__init__()
        self.dim, self.relu = dim, kind == "relu"
        inner = max(1, dim // 2)
        self.narrow, self.widen = Linear(dim, inner), Linear(inner, dim)
        self.middle: Layer
        if self.relu:
            self.middle = Convolution(inner, inner, kernel=kernel, dilation=dilation, causal=causal)
        else:
            self.middle = MultiplicativeUnit(inner, kernel=kernel, dilation=dilation, causal=causal)
        widths = (dim, inner, inner) if self.relu else (dim, inner)
        self.norms = module_list(NORMALISATIONS.build(norm, width, place="norm") for width in widths)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, Any]:
        """inputs (batch, n, dim) → outputs (batch, n, dim), pasts of the norms and of the convolution."""
        before = (None,) * (len(self.norms) + 1) if past is None else past
        pasts: list[Any] = []

        def enter(states: Tensor) -> Tensor:
            place = len(pasts)
            states, after = self.norms[place](states, mask, before[place])
            pasts.append(after)
            return functional.relu(states) if self.relu else states

        states = self.narrow(enter(inputs))
        states, seen = self.middle(enter(states), mask, before[-1])
        states = self.widen(enter(states) if self.relu else states)
        return inputs + states, (*pasts, seen)


def note_dilations(dilations: tuple[int, ...], kernel: int, *, ratio: float = 1.0, extra: float = 0.0) -> None:
    """Note dilations larger than every text, whose length is extended by `ratio` and `extra` first."""
    for rate in dilations:
        if kernel > 1:
            beyond = (rate - max(0, extra)) / max(1, ratio)
            note("dilations", f"blocks of {rate} see only one word, as every text is shorter", beyond=beyond)


def residual_chain(
    dim: int,
    num_layers: int,
    *,
    kind: BlockKind,
    kernel: int,
    dilations: tuple[int, ...],
    causal: bool,
    norm: Normalisation,
) -> Chain:
    """Return blocks with cyclic dilations: 1, 2, 4, 8, 16, 1, 2 …"""
    rates = itertools.islice(itertools.cycle(dilations), num_layers)
    return Chain(
        dim,
        [ResidualBlock(dim, kind=kind, kernel=kernel, dilation=rate, causal=causal, norm=norm) for rate in rates],
    )
