"""A translator as three traced graphs: its encoder, the first step of its decoder, and any later step.

"logits" are log-probabilities, which are logits, too. Positions become tables and recurrence a scan, so that graphs
hold for sources of any length.
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from traceback import walk_tb
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.nn.functional import linear
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from regard.errors import RegardError
from regard.exchange.graphs.ports import (
    BATCH_AXIS,
    LAST_STATES,
    SOURCE_AXIS,
    STATES,
    WORDS_READ,
    GraphPort,
    States,
    rebuilt,
    source_batch,
    states_of,
    tensors,
)
from regard.layers.positions.position import Position
from regard.layers.positions.sinusoidal import SinusoidalPosition
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.models import Model
from regard.models.model import ROUTE
from regard.models.translator import Translator, Writing
from regard.ops.kernels.packing import caches_of
from regard.ops.plain import plain

IDS, MASK, LOGITS, POSITION = "input_ids", "attention_mask", "logits", "position"


class Graph(NamedTuple):
    """A traced graph and its ports."""

    program: ExportedProgram
    inputs: tuple[GraphPort, ...]
    outputs: tuple[GraphPort, ...]


class Graphs(NamedTuple):
    """The three graphs of a translator, and what goes between them."""

    encoder: Graph
    first: Graph
    later: Graph
    states: States


class _Encode(nn.Module):
    def __init__(self, model: Translator, states: States) -> None:
        super().__init__()
        self.model, self.paths = model, [states.paths[one.name] for one in states.encoder]

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        found = tensors(self.model.encode(source_batch(ids, mask != 0)))
        return tuple(found[path] for path in self.paths)


class _Decoding(nn.Module):
    def __init__(self, model: Translator, states: States) -> None:
        super().__init__()
        self.model, self.states = model, states

    def stepped(self, ids: Tensor, before: Writing, ports: Sequence[GraphPort]) -> tuple[Tensor, ...]:
        step, after = self.model.step(ids, before)
        found = tensors(cast(Writing, after))
        return step.log_probs.unsqueeze(1), *(found[self.states.paths[one.name]] for one in ports)


class _First(_Decoding):
    def forward(self, ids: Tensor, mask: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        states, route = self.states, self.model.routes[ROUTE]
        values = {states.paths[one.name]: value for one, value in zip(states.encoder, given, strict=True)}
        encoded = rebuilt(states.encoded, {"mask": mask != 0, **values})
        kept = encoded if self.model.heads[route.head].reads_source else None
        started = Writing(self.model.decoders[route.decoder].start(encoded), kept, ROUTE, encoded.mask)
        return self.stepped(ids, started, [*states.fixed, *states.moving])


class _Later(_Decoding):
    def forward(self, ids: Tensor, mask: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        states = self.states
        ports = [*states.fixed, *states.moving]
        named = dict(zip((one.name for one in ports), given, strict=False))
        values: dict[str, Any] = {states.paths[name]: value for name, value in named.items()}
        shown, known = mask != 0, tensors(states.written)
        for path in states.masks:
            values[path] = shown.view(shown.shape[0], *known[path].shape[1:-1], shown.shape[1])
        written = self._written(named, given[-1])
        values |= {path: written + (value - WORDS_READ) for path, value in states.counters.items()}
        return self.stepped(ids, rebuilt(states.written, values), states.moving)

    def _written(self, named: Mapping[str, Tensor], last: Tensor) -> Any:
        """The number of words before this step: from the shape of what grows, or what was given last."""
        if self.states.growing is None:
            return last[0]
        name, axis = self.states.growing
        return named[name].shape[axis]


def graphs_of(model: Translator, vocabulary: int, longest: int) -> Graphs:
    """Trace a translator. Raises RegardError, with the part that is in the way, where torch.export cannot.

    `vocabulary` is the number of source pieces, `longest` that of positions.
    """
    states = states_of(model, vocabulary)
    made = cast(Translator, traceable(model, longest))
    read = states.source.sequences("source")
    ids, mask = (
        GraphPort(IDS, (BATCH_AXIS, SOURCE_AXIS), read.items),
        GraphPort(MASK, (BATCH_AXIS, SOURCE_AXIS), read.mask.long()),
    )
    word = GraphPort(IDS, (BATCH_AXIS, 1), torch.full((len(read.items), 1), 1))
    shown, past = mask._replace(name=f"encoder_{MASK}"), [*states.fixed, *states.moving]
    given = [one._replace(name=STATES) if one.name == LAST_STATES else one for one in states.encoder]
    logits = GraphPort(LOGITS, (BATCH_AXIS, 1, states.vocabulary), torch.zeros(()))
    counted = states.counters and states.growing is None
    position = [GraphPort(POSITION, (1,), torch.tensor([WORDS_READ]))] if counted else []
    writes = _without(made, "encoders")
    return Graphs(
        _traced(_Encode(_without(made, "decoders", "heads"), states), [ids, mask], states.encoder),
        _traced(_First(writes, states), [word, shown, *given], [logits, *past]),
        _traced(_Later(writes, states), [word, shown, *past, *position], [logits, *states.moving]),
        states,
    )


def _without(model: Translator, *names: str) -> Translator:
    """Return the same model without some of its parts, so that a graph does not hold their weights."""
    made = copy.copy(model)
    made._modules = {name: module for name, module in model._modules.items() if name not in names}
    return made


def _traced(module: nn.Module, inputs: Sequence[GraphPort], outputs: Sequence[GraphPort]) -> Graph:
    given = [one.example.cpu().contiguous() for one in inputs]
    free = [{axis: Dim.DYNAMIC for axis, size in enumerate(one.shape) if isinstance(size, str)} for one in inputs]
    rest = [tuple(free[2:])] if len(free) > 2 else []
    try:
        with torch.no_grad(), plain(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(module, tuple(given), dynamic_shapes=(*free[:2], *rest), strict=False)
    except Exception as error:
        problem = f"{_part(module, error)} cannot be traced: {str(error).strip().splitlines()[0]:.200}"
        raise RegardError(f"this run cannot be exported: {problem}") from error
    for symbol, sizes in program.range_constraints.items():  # a convolution is computed another way from 16 texts on
        program.range_constraints[symbol] = ValueRanges(sizes.lower, int_oo)
    return Graph(program, tuple(inputs), tuple(outputs))


def _part(module: nn.Module, error: BaseException) -> str:
    """Return the part of a model where an error was raised: its class and its place."""
    names = {id(one): name for name, one in module.named_modules()}
    found = "the model"
    for frame, _ in walk_tb(error.__traceback__):
        one = frame.f_locals.get("self")
        if isinstance(one, nn.Module) and names.get(id(one), "").startswith("model."):
            found = f"{type(one).__name__} ({names[id(one)].removeprefix('model.')})"
    return found


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
