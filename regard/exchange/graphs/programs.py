"""A translator as three traced graphs: its encoder, the first step of its decoder, and any later step.

"logits" are log-probabilities, which are logits, too.
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from traceback import walk_tb
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from regard.errors import RegardError
from regard.exchange.graphs.ports import (
    BATCH,
    LAST_STATES,
    SOURCE,
    STATES,
    WORDS,
    Port,
    States,
    source_batch,
    states_of,
)
from regard.exchange.graphs.traceable import traceable
from regard.exchange.graphs.trees import rebuilt, tensors
from regard.models.model import ROUTE
from regard.models.translator import Translator, Writing
from regard.ops.plain import plain

IDS, MASK, LOGITS, POSITION = "input_ids", "attention_mask", "logits", "position"


class Graph(NamedTuple):
    """A traced graph and its ports."""

    program: ExportedProgram
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


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

    def stepped(self, ids: Tensor, before: Writing, ports: Sequence[Port]) -> tuple[Tensor, ...]:
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
        values |= {path: written + (value - WORDS) for path, value in states.counters.items()}
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
    ids, mask = Port(IDS, (BATCH, SOURCE), read.items), Port(MASK, (BATCH, SOURCE), read.mask.long())
    word = Port(IDS, (BATCH, 1), torch.full((len(read.items), 1), 1))
    shown, past = mask._replace(name=f"encoder_{MASK}"), [*states.fixed, *states.moving]
    given = [one._replace(name=STATES) if one.name == LAST_STATES else one for one in states.encoder]
    logits = Port(LOGITS, (BATCH, 1, states.vocabulary), torch.zeros(()))
    counted = states.counters and states.growing is None
    position = [Port(POSITION, (1,), torch.tensor([WORDS]))] if counted else []
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


def _traced(module: nn.Module, inputs: Sequence[Port], outputs: Sequence[Port]) -> Graph:
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
