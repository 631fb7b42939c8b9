"""The turns of an update: what each moves, by which optimizer, how fast, and how often."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn, optim
from torch.autograd.graph import increment_version

from regard.errors import ConfigError, nearest
from regard.objectives import Objective
from regard.training.groups import NO_LAYERS, Layers, frozen_parameters, layers_of, regroup
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES
from regard.training.settings import TrainingSettings


class Turn:
    """One optimizer and one schedule for some parameters.

    A schedule counts all updates, also those in which the turn is not taken. Raises ConfigError for numbers that the
    optimizer does not take.
    """

    def __init__(
        self, name: str, settings: TrainingSettings, parameters: list[nn.Parameter], layers: Layers = NO_LAYERS
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
        """Whether an update, counted from 1, takes this turn."""
        return update % self.every == 0

    def gradients(self) -> list[Tensor]:
        """Those that there are."""
        return [one.grad for one in self.parameters if one.grad is not None]

    def forget_frozen(self, update: int) -> None:
        """Drop the gradients of what an update does not move, so that they do not count for clipping either."""
        for parameter in frozen_parameters(self.optimizer, update):
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
                problem = "is no turn of this objective"
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
        """Why training should end: there are no turns, or one of the schedules; "" while it should go on."""
        if not self._turns:
            return "nothing is left to learn"
        return next((turn.schedule.ended for turn in self.values() if turn.schedule.ended), "")

    @property
    def rise(self) -> int:
        """Updates until the last learning rate has risen to its peak."""
        return max((turn.schedule.rise for turn in self.values()), default=0)

    def shorten_rise(self, most: int) -> None:
        """Let all learning rates rise in so many updates at most."""
        for turn in self.values():
            turn.schedule.shorten_rise(most)

    def observe(self, score: float, higher_is_better: bool) -> None:
        """Tell all schedules of a validation."""
        for turn in self.values():
            turn.schedule.observe(score, higher_is_better)

    def forget_gradients(self) -> None:
        """Of all turns: the loss of one reaches the parameters of others."""
        for turn in self.values():
            for parameter in turn.parameters:
                parameter.grad = None

    def state(self) -> dict[str, Any]:
        """Of the schedules; the optimizers are saved by themselves."""
        return {name: turn.schedule.state() for name, turn in self.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The way back; a schedule that was put in place of another kind begins anew."""
        for name, turn in self.items():
            turn.schedule.resume(state.get(name, {}))
