"""Numbers that follow schedules, by their dotted names."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.errors import ConfigError
from regard.objectives import Objective
from regard.synonyms import renamed_number
from regard.training.schedules import SCHEDULES
from regard.training.settings import TrainingSettings


class Scheduled:
    """`schedules: {objective.label_smoothing: {name: linear, updates: 1000}}` drives an attribute of the objective, of
    a penalty (`penalties.overlap.weight`) or of a module of the model, between 0 and the value it was built with.
    """

    def __init__(self, settings: TrainingSettings, model: nn.Module, objective: Objective) -> None:
        self._owners = {name: _owner(name, model, objective) for name in settings.schedules}
        self.schedules = {
            name: SCHEDULES.build(choice, float(getattr(*self._owners[name])))
            for name, choice in settings.schedules.items()
        }

    def apply(self, update: int) -> None:
        """Set every named number for an update."""
        for name, schedule in self.schedules.items():
            setattr(*self._owners[name], schedule.value(update))

    def observe(self, score: float, higher_is_better: bool) -> None:
        """Report a validation to all schedules."""
        for schedule in self.schedules.values():
            schedule.observe(score, higher_is_better)

    def state(self) -> dict[str, Any]:
        """Return the state of every schedule."""
        return {name: schedule.state() for name, schedule in self.schedules.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; a schedule that replaces one of another kind begins at 0."""
        for name, schedule in self.schedules.items():
            schedule.resume(state.get(name, {}))


def _owner(name: str, model: nn.Module, objective: Objective) -> tuple[Any, str]:
    first, *path = name.split(".")
    thing: Any = {"objective": objective.itself, "penalties": objective.penalties, "model": model}.get(first)
    *inner, last = path or [""]
    for part in inner:
        thing = getattr(thing, part, None)
    last = renamed_number(thing, last)
    if not isinstance(getattr(thing, last, None), float):
        problem = "names no number that could be driven"
        raise ConfigError(f"training.schedules.{name}", problem, "for example objective.label_smoothing")
    return thing, last
