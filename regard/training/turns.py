"""The turns of an update: what each moves, by which optimizer, how fast, how often, and from which update on.

Layers count from the input: the embedder is 0, block i of an encoder or a decoder is i + 1, and what stands above the
last of them, such as a pooling or a head, is the top.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import Tensor, nn, optim
from torch.autograd.graph import increment_version

from regard.errors import ConfigError, nearest
from regard.objectives import Objective
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES, Schedule
from regard.training.settings import TrainingSettings

STACKS = ("encoder", "decoder", "encoders", "decoders")  # whose modules with a number are layers
MATRIX = 2  # axes: biases and gains of normalisations have one


class LayerNumbers(NamedTuple):
    """The layer of each parameter of a model."""

    of: Mapping[int, int]  # by id; those of no model are of the top
    top: int

    def below(self, parameter: nn.Parameter) -> int:
        """Layers from a parameter's own up to the top."""
        return self.top - self.of.get(id(parameter), self.top)


NO_LAYERS = LayerNumbers(MappingProxyType({}), 0)  # of parameters that are of no model


class Turn:
    """One optimizer and one schedule for some parameters.

    A schedule counts all updates, also those in which the turn is not taken. Raises ConfigError for numbers that the
    optimizer does not take.
    """

    def __init__(
        self, name: str, settings: TrainingSettings, parameters: list[nn.Parameter], layers: LayerNumbers = NO_LAYERS
    ) -> None:
        own = settings.turn(name)
        self.name, self.parameters = name, parameters
        self.clip_norm, self.every = own.clip_norm, own.every
        self.schedule = SCHEDULES.build(own.schedule, own.learning_rate)
        try:
            self.optimizer: optim.Optimizer = OPTIMIZERS.build(own.optimizer, parameters)
        except ConfigError:
            raise
        except ValueError as error:  # torch checks itself what goes together
            problem = str(error).splitlines()[0]
            place = f"training.turns.{name}.optimizer" if name in settings.turns else "training.optimizer"
            raise ConfigError(place, f"{own.optimizer.name}: {problem[:1].lower()}{problem[1:]}") from error
        regroup(self.optimizer, settings, layers)

    def taken(self, update: int) -> bool:
        """Return whether an update, counted from 1, takes this turn."""
        return update % self.every == 0

    def gradients(self) -> list[Tensor]:
        """Return the gradients that there are."""
        return [one.grad for one in self.parameters if one.grad is not None]

    def forget_frozen(self, update: int) -> None:
        """Drop the gradients of what an update does not move, so that they do not count for clipping either."""
        for group in self.optimizer.param_groups:
            if update <= int(group.get("frozen", 0)):
                for parameter in group["params"]:
                    parameter.grad = None

    def step(self, update: int) -> float:
        """Move the parameters along their gradients; return the learning rate, of the top layer."""
        rate = self.schedule.value(update)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group.get("share", 1.0)
        self.optimizer.step()
        increment_version(self.parameters)  # torch's fused optimizers do not say that they changed them
        return rate


class Turns(Mapping[str, Turn]):
    """The turns of an objective by name, in order. Raises ConfigError for settings of a turn that it does not have."""

    def __init__(self, settings: TrainingSettings, objective: Objective) -> None:
        for name in settings.turns:
            if name not in objective.turns:
                problem = "is not a turn of this objective"
                raise ConfigError(f"training.turns.{name}", problem, nearest(name, objective.turns))
        layers = layers_of(objective.context.model)
        self._turns = {
            name: Turn(name, settings, [one for one in objective.parameters_of(name) if one.requires_grad], layers)
            for name in objective.turns
        }

    def __getitem__(self, name: str) -> Turn:
        return self._turns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._turns)

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def optimizers(self) -> dict[str, optim.Optimizer]:
        """By turn."""
        return {name: turn.optimizer for name, turn in self.items()}

    @property
    def ended(self) -> str:
        """The reason to end training: there are no turns, or one of the schedules; "" while it should go on."""
        if not self._turns:
            return "nothing is left to learn"
        return next((turn.schedule.ended for turn in self.values() if turn.schedule.ended), "")

    @property
    def rise(self) -> int:
        """Updates until the last learning rate has risen to its peak."""
        return max((turn.schedule.rise for turn in self.values()), default=0)

    def shorten_rise(self, most: int) -> None:
        """Limit the warm-up of all learning rates to a number of updates."""
        for turn in self.values():
            turn.schedule.shorten_rise(most)

    @property
    def schedules(self) -> list[Schedule]:
        """Of the learning rates."""
        return [turn.schedule for turn in self.values()]

    def observe(self, score: float, higher_is_better: bool) -> None:
        """Report a validation to all schedules."""
        for turn in self.values():
            turn.schedule.observe(score, higher_is_better)

    def forget_gradients(self) -> None:
        """Drop the gradients of all turns: the loss of one reaches the parameters of others."""
        for turn in self.values():
            for parameter in turn.parameters:
                parameter.grad = None

    def state(self) -> dict[str, Any]:
        """Return the state of the schedules; the optimizers are saved by themselves."""
        return {name: turn.schedule.state() for name, turn in self.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; a schedule that replaces one of another kind begins at 0."""
        for name, turn in self.items():
            turn.schedule.resume(state.get(name, {}))


def layers_of(model: nn.Module) -> LayerNumbers:
    """Return the layer of each parameter; a table that is tied to an embedder is the embedder's.

    The top is the highest with a parameter that learns: a head may be all tied.
    """
    known = dict(model.named_parameters())
    numbers = {name: _number(name) for name in known}
    last = max((number for number in numbers.values() if number is not None), default=0)
    above = {name: last + 1 if _inside(name) is None else last for name in known}  # a stack's last norm is of its top
    found = {name: above[name] if number is None else number for name, number in numbers.items()}
    top = max((found[name] for name, parameter in known.items() if parameter.requires_grad), default=0)
    return LayerNumbers({id(parameter): found[name] for name, parameter in known.items()}, top)


def regroup(optimizer: optim.Optimizer, settings: TrainingSettings, layers: LayerNumbers) -> None:
    """Divide the one group of a new optimizer, where settings distinguish parameters.

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
        decays = {"weight_decay": decay} if "weight_decay" in whole else {}
        optimizer.add_param_group({**whole, **decays, "params": parameters, "share": share, "frozen": frozen})


def _number(name: str) -> int | None:
    """Return the layer in a parameter's name: 0 for an embedder, None without one."""
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
