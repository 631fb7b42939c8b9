"""Groups of parameters: what decays, how fast each layer learns, and from which update on.

Layers count from the input: the embedder is 0, block i of an encoder or a decoder is i + 1, and what stands above the
last of them, such as a pooling or a head, is the top.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import nn, optim

from regard.training.settings import TrainingSettings

STACKS = ("encoder", "decoder", "encoders", "decoders")  # whose modules with a number are layers
MATRIX = 2  # axes: biases and gains of normalisations have one


class Layers(NamedTuple):
    """Which layer each parameter of a model is of."""

    of: Mapping[int, int]  # by id; those of no model are of the top
    top: int

    def below(self, parameter: nn.Parameter) -> int:
        """Layers from a parameter's own up to the top."""
        return self.top - self.of.get(id(parameter), self.top)


NO_LAYERS = Layers(MappingProxyType({}), 0)  # of parameters that are of no model


def layers_of(model: nn.Module) -> Layers:
    """Return the layer of each parameter; a table that is tied to an embedder is the embedder's.

    The top is the highest with a parameter that learns: a head may be all tied.
    """
    known = dict(model.named_parameters())
    numbers = {name: _number(name) for name in known}
    last = max((number for number in numbers.values() if number is not None), default=0)
    above = {name: last + 1 if _inside(name) is None else last for name in known}  # a stack's last norm is of its top
    found = {name: above[name] if number is None else number for name, number in numbers.items()}
    top = max((found[name] for name, parameter in known.items() if parameter.requires_grad), default=0)
    return Layers({id(parameter): found[name] for name, parameter in known.items()}, top)


def regroup(optimizer: optim.Optimizer, settings: TrainingSettings, layers: Layers) -> None:
    """Divide the one group of a new optimizer, where settings tell parameters apart.

    A group's "share" multiplies the rate, https://arxiv.org/abs/1801.06146 section 3.2, and it is moved once "frozen"
    updates are done, section 3.3.
    """
    (whole,) = optimizer.param_groups
    groups: dict[tuple[float, int, float], list[nn.Parameter]] = {}
    for parameter in whole["params"]:
        below = layers.below(parameter)
        decay = whole.get("weight_decay", 0.0)
        kept = decay if settings.weight_decay_of == "all" or parameter.dim() >= MATRIX else 0.0
        key = settings.layer_decay**below, settings.unfreeze_every * below, kept
        groups.setdefault(key, []).append(parameter)
    if len(groups) <= 1:
        return
    optimizer.param_groups.clear()
    for (share, frozen, decay), parameters in groups.items():
        told = {"weight_decay": decay} if "weight_decay" in whole else {}
        optimizer.add_param_group({**whole, **told, "params": parameters, "share": share, "frozen": frozen})


def is_frozen(group: dict[str, Any], update: int) -> bool:
    """Whether a group is not yet moved at an update, counted from 1."""
    return update <= int(group.get("frozen", 0))


def frozen_parameters(optimizer: optim.Optimizer, update: int) -> Iterable[nn.Parameter]:
    """Return what is not moved at an update."""
    return (one for group in optimizer.param_groups if is_frozen(group, update) for one in group["params"])


def _number(name: str) -> int | None:
    """The layer that a parameter's name tells: 0 for an embedder, None where it tells none."""
    inside = _inside(name)
    if any("embedder" in part for part in name.split(".")):
        return 0
    numbers = [int(part) for part in inside or () if part.isdecimal()]
    return numbers[0] + 1 if numbers else None


def _inside(name: str) -> list[str] | None:
    """The rest of a parameter's name behind that of the stack it is of; None where it is of none."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part in STACKS]
    return parts[places[0] + 1 :] if places else None
