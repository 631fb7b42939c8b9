"""Networks that torch.export can trace for sources of any length: tables of positions, recurrence as a scan."""

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.layers.positions.position import Position
from regard.layers.positions.sinusoidal import SinusoidalPosition
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.models import Model
from regard.ops.kernels.packing import caches_of


class PositionTable(nn.Module):
    """Positions as rows of a table, which are read by place; behind the last row that row again."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, start: int | Tensor, length: int) -> Tensor:
        """Return positions (length, dim)."""
        table = cast(Tensor, self.table)
        places = start + torch.arange(length, device=table.device)
        return table[places.clamp(max=table.shape[0] - 1)]


class CellOfTorch(nn.Module):
    """One step of torch's GRU, LSTM or simple recurrent network, whose own code traces one length of sources alone."""

    def __init__(self, network: nn.RNNBase) -> None:
        super().__init__()
        self.mode = network.mode
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            self.register_parameter(name, cast(nn.Parameter, getattr(network, f"{name}_l0")))

    def forward(self, inputs: Tensor, past: Past) -> tuple[Tensor, Past]:
        """inputs (batch, input_dim) → output (batch, dim) and the past after it."""
        read = linear(inputs, cast(Tensor, self.weight_ih), cast(Tensor, self.bias_ih))
        kept = linear(past[0], cast(Tensor, self.weight_hh), cast(Tensor, self.bias_hh))
        if self.mode == "GRU":
            (reset, keep, new), (from_reset, from_keep, from_new) = read.chunk(3, -1), kept.chunk(3, -1)
            keep = torch.sigmoid(keep + from_keep)
            candidate = torch.tanh(new + torch.sigmoid(reset + from_reset) * from_new)
            state = (1 - keep) * candidate + keep * past[0]
            return state, (state,)
        if self.mode == "LSTM":
            enters, forgets, new, shows = (read + kept).chunk(4, -1)
            cell = torch.sigmoid(forgets) * past[1] + torch.sigmoid(enters) * torch.tanh(new)
            state = torch.sigmoid(shows) * torch.tanh(cell)
            return state, (state, cell)
        state = torch.relu(read + kept) if self.mode == "RNN_RELU" else torch.tanh(read + kept)
        return state, (state,)


class CellOfLayer(nn.Module):
    """One step of any other recurrent layer."""

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, inputs: Tensor, past: Past) -> tuple[Tensor, Past]:
        """inputs (batch, input_dim) → output (batch, dim) and the past after it."""
        outputs, after = self.layer(inputs.unsqueeze(1), None, past)
        return outputs[:, 0], after


class ScannedLayer(nn.Module):
    """A recurrent layer as one operation that repeats its step, so that a graph holds for any number of steps."""

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        network = getattr(layer, "network", None)
        torchs = isinstance(network, nn.RNNBase) and getattr(layer, "reset_after", True)
        self.dim = layer.dim
        self.cell: nn.Module = CellOfTorch(cast(nn.RNNBase, network)) if torchs else CellOfLayer(layer)
        shapes = [one.shape[1:] for one in layer.nothing(torch.zeros(1, 1, 1))]
        self.shapes = [tuple(shape) for shape in shapes]

    def nothing(self, inputs: Tensor) -> Past:
        """Return the past of rows without input."""
        return tuple(inputs.new_zeros(inputs.shape[0], *shape) for shape in self.shapes)

    def begun(self, state: Tensor) -> Past:
        """Return the past of rows that start from a state (batch, dim)."""
        return state, *self.nothing(state)[1:]

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), past; a padded step keeps the past."""
        past = self.nothing(inputs) if past is None else past
        if mask is None and inputs.shape[1] == 1:
            output, after = self.cell(inputs[:, 0], past)
            return output.unsqueeze(1), after
        from torch._higher_order_ops.scan import scan

        def step(before: Past, given: tuple[Tensor, Tensor]) -> tuple[Past, tuple[Tensor]]:
            word, real = given
            output, new = self.cell(word, before)
            kept = tuple(torch.where(_beside(real, one), one, old) for one, old in zip(new, before, strict=True))
            return kept, (output.masked_fill(~real.unsqueeze(-1), 0.0),)

        shown = torch.ones_like(inputs[:, :, 0], dtype=torch.bool) if mask is None else mask
        after, (outputs,) = scan(step, past, (inputs.transpose(0, 1), shown.transpose(0, 1)))
        return outputs.transpose(0, 1), after


def traceable(model: Model, longest: int) -> Model:
    """Return a copy on the CPU in float32 that shares its weights where it can; it has at least `longest` positions."""
    weights = [*model.parameters(), *model.buffers()]
    same = all(one.device.type == "cpu" and one.dtype == torch.float32 for one in weights if one.is_floating_point())
    shared = [*weights, *caches_of(model)]
    made = copy.deepcopy(model, {id(one): one for one in shared} if same else {})
    made = made if same else made.cpu().float()
    for module in [*made.modules()]:
        for name, child in [*module.named_children()]:
            if isinstance(child, Position):
                module.add_module(name, _table_of(child, longest))
            elif isinstance(child, Recurrent) and not isinstance(module, CellOfLayer):
                module.add_module(name, ScannedLayer(child))
    return made.eval()


def _table_of(position: Position, longest: int) -> PositionTable:
    if isinstance(position, SinusoidalPosition):
        return PositionTable(position(0, longest))
    return PositionTable(cast(Any, position).table.detach())


def _beside(real: Tensor, state: Tensor) -> Tensor:
    return real.view(-1, *[1] * (state.dim() - 1))
