"""Schedules: a number as a function of the update. They drive the learning rate and any other named number."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any

from torch import nn

from regard.config import Doc
from regard.config.bounds import Count, NotNegative, Positive, Ratio, Size
from regard.config.common_settings import Warmup
from regard.errors import ConfigError
from regard.objectives import Objective
from regard.registry import Registry
from regard.synonyms import renamed_number
from regard.training.settings import TrainingSettings


class Schedule(ABC):
    """Built with (peak,). Updates count from 1.

    It rises to its peak over `rise` updates, `warmup` unless that is shortened; what falls later falls as it would.
    """

    def __init__(self, peak: float, *, warmup: Warmup = 0) -> None:
        self.peak, self.warmup, self.rise = peak, warmup, warmup

    @abstractmethod
    def value(self, update: int) -> float:
        """The number at an update."""

    def shorten_rise(self, most: int) -> None:
        """Limit the warm-up to a number of updates; the peak lasts for the rest of it."""
        self.rise = min(self.warmup, most)

    def risen(self, update: int) -> float:
        """Return the share of the peak that is reached: min(1, update / rise)."""
        return min(1.0, update / max(1, self.rise))

    @property
    def ended(self) -> str:
        """The reason to end training here; "" where it should go on, as with most."""
        return ""

    @property
    def open(self) -> bool:
        """True where the last update is that of the training's limits."""
        return False

    def expect(self, updates: int) -> None:
        """Set the expected number of updates; only schedules that end with the training use it."""

    def observe(self, score: float, higher_is_better: bool) -> None:
        """Take note of a validation; most do not."""

    def state(self) -> dict[str, Any]:
        """Return what a resumed run must know."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""

    def resume(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a schedule of this kind; begin at 0 after one of another kind."""
        if state.keys() == self.state().keys():
            self.restore(state)


class ConstantSchedule(Schedule):
    """The peak, reached in a line over `warmup` updates."""

    def value(self, update: int) -> float:
        return self.peak * self.risen(update)


class InverseSqrtSchedule(Schedule):
    """peak · min(update / warmup, sqrt(warmup / update)): https://arxiv.org/abs/1706.03762, equation 3, by its peak."""

    def __init__(self, peak: float, *, warmup: Warmup = 1000) -> None:
        super().__init__(peak, warmup=max(1, warmup))

    def value(self, update: int) -> float:
        return self.peak * min(self.risen(update), math.sqrt(self.warmup / update))


class NoamSchedule(Schedule):
    """peak · dim^-0.5 · min(update^-0.5, update · warmup^-1.5), as printed there; the paper's peak is 1."""

    def __init__(
        self,
        peak: float,
        *,
        dim: Annotated[Size, Doc("Model width in the formula.")] = 512,
        warmup: Warmup = 4000,
    ) -> None:
        super().__init__(peak, warmup=max(1, warmup))
        self.dim = dim

    def value(self, update: int) -> float:
        rising = update * self.warmup**-1.5 * (self.warmup / max(1, self.rise))
        return float(self.peak * self.dim**-0.5 * min(max(update, self.warmup) ** -0.5, rising))


class DelayedSchedule(Schedule):
    """0 for the first `updates`, then the peak: what joins training later (https://arxiv.org/abs/1503.08895, 4.2)."""

    def __init__(self, peak: float, *, updates: Annotated[Count, Doc("Updates before it starts.")]) -> None:
        super().__init__(peak)
        self.updates = updates

    def value(self, update: int) -> float:
        return self.peak if update > self.updates else 0.0


DecayUpdates = Annotated[
    Count | None, Doc("Update at which the decay ends; null: the last one that the limits of the training allow.")
]


class FallingSchedule(Schedule):
    """Rises in a line over `warmup`, and falls from then on, to `floor` · peak at `updates`.

    Without `updates` it ends where the training does. With a limit of time every update estimates that again, so it
    follows a machine that becomes faster or slower.
    """

    def __init__(
        self,
        peak: float,
        *,
        updates: DecayUpdates = None,
        warmup: Warmup = 0,
        floor: Annotated[NotNegative, Doc("Final value, as a fraction of the peak.")] = 0.0,
    ) -> None:
        super().__init__(peak, warmup=warmup)
        self.updates, self.floor = updates, floor
        self.expected: int | None = None

    @property
    def open(self) -> bool:
        return self.updates is None

    def expect(self, updates: int) -> None:
        self.expected = updates

    def fallen(self, update: int) -> float:
        """Return how far an update is between the end of the warm-up and the last update, 0 to 1; 0: none is known."""
        first, last = (self.rise, self.expected) if self.open else (self.warmup, self.updates)
        return 0.0 if last is None else min(1.0, max(0.0, (update - first) / max(1, last - first)))


class LinearSchedule(FallingSchedule):
    """Rises over `warmup`, then falls in a line to `floor` · peak at `updates`."""

    def value(self, update: int) -> float:
        fall = 1.0 - (1.0 - self.floor) * self.fallen(update)
        return self.peak * self.risen(update) * fall


class CosineSchedule(FallingSchedule):
    """Rises over `warmup`, then falls as half a cosine to `floor` · peak at `updates` (arXiv:1608.03983)."""

    def value(self, update: int) -> float:
        fall = 0.5 * (1 + math.cos(math.pi * self.fallen(update)))
        return self.peak * self.risen(update) * (self.floor + (1 - self.floor) * fall)


class ExponentialSchedule(FallingSchedule):
    """Rises over `warmup`, then falls by the same factor at each update, to `floor` · peak at `updates`.

    exp(-update / t), at least f, is `updates` = t · ln(1 / f), `floor` = f: a temperature of Gumbel-softmax
    (https://arxiv.org/abs/1611.01144).
    """

    def __init__(
        self,
        peak: float,
        *,
        updates: DecayUpdates = None,
        warmup: Warmup = 0,
        floor: Annotated[Positive, Doc("Final value, as a fraction of the peak.")] = 0.1,
    ) -> None:
        super().__init__(peak, updates=updates, warmup=warmup, floor=floor)

    def value(self, update: int) -> float:
        return float(self.peak * self.risen(update) * self.floor ** self.fallen(update))


class PlateauSchedule(Schedule):
    """The peak, times `factor` whenever `patience` validations in a row were no better than the best before.

    As the learning rate it ends training once it is lower than `stop` (https://arxiv.org/abs/1705.03122, section 4.2).
    """

    def __init__(
        self,
        peak: float,
        *,
        factor: Annotated[Positive, Doc("Decay factor when validation stalls.")] = 0.5,
        patience: Annotated[Count, Doc("Patience: validations without improvement before a decay.")] = 2,
        warmup: Warmup = 0,
        stop: Annotated[NotNegative, Doc("Minimum learning rate; training stops below it.")] = 0.0,
    ) -> None:
        super().__init__(peak, warmup=warmup)
        self.factor, self.patience, self.stop = factor, patience, stop
        self.best: float | None = None
        self.waited, self.scale = 0, 1.0

    def value(self, update: int) -> float:
        return self.peak * self.scale * self.risen(update)

    @property
    def ended(self) -> str:
        """The reason to end, by the scale alone: a warm-up, too, begins with low rates."""
        return f"the learning rate has fallen below {self.stop:g}" if self.peak * self.scale < self.stop else ""

    def observe(self, score: float, higher_is_better: bool) -> None:
        """Counts validations without progress; a score that is not a number is none."""
        known = self.best if self.best is not None else -math.inf if higher_is_better else math.inf
        if score > known if higher_is_better else score < known:
            self.best, self.waited = score, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            self.waited, self.scale = 0, self.scale * self.factor

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited, "scale": self.scale}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best, self.waited, self.scale = state["best"], state["waited"], state["scale"]


class StepDecaySchedule(Schedule):
    """The peak for `after` updates, then times `factor` whenever `every` updates more are done.

    The TensorFlow NMT tutorial trains 12,000 updates and halves every 1,000 after 8,000, so first at update 9,001
    (https://github.com/tensorflow/nmt, "luong234").
    """

    def __init__(
        self,
        peak: float,
        *,
        every: Annotated[Size, Doc("Updates between decays.")],
        after: Annotated[Count, Doc("Updates before the first decay.")] = 0,
        factor: Annotated[Ratio, Doc("Decay factor.")] = 0.5,
        warmup: Warmup = 0,
    ) -> None:
        super().__init__(peak, warmup=warmup)
        self.every, self.after, self.factor = every, after, factor

    def value(self, update: int) -> float:
        falls = max(0, update - 1 - self.after) // self.every
        return self.peak * self.risen(update) * float(self.factor**falls)


SCHEDULES: Registry[Schedule] = Registry(
    "training.schedule",
    {
        "constant": ConstantSchedule,
        "cosine": CosineSchedule,
        "delayed": DelayedSchedule,
        "exponential": ExponentialSchedule,
        "inverse_sqrt": InverseSqrtSchedule,
        "linear": LinearSchedule,
        "noam": NoamSchedule,
        "plateau": PlateauSchedule,
        "step_decay": StepDecaySchedule,
    },
)


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
