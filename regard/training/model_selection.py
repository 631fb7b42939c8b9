"""Model selection while a model is trained: validations, the ranking of updates by them, and patience."""

import math
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from regard.ops.memory import memory_errors_named
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.world import ONE_PROCESS, World

NARROWER = "Try --resume with a smaller decoding.batch_tokens, or a narrower search"

Scores = Mapping[str, float]
ShouldStop = Callable[[], bool]
Validate = Callable[[ShouldStop], Scores]


class Ranked(NamedTuple):
    """A validation."""

    score: float
    update: int
    loss: float | None = None  # of the dev part: it tells equal scores apart


class EarlyStopping:
    """The k best updates by a score, of equal ones by the loss; counts validations since the score last improved.

    With `keep_last` it also knows the updates of that many last validations.
    """

    def __init__(
        self, metric: str, keep: int, patience: int | None, *, higher_is_better: bool, keep_last: int = 0
    ) -> None:
        self.metric, self.keep, self.patience, self.keep_last = metric, max(1, keep), patience, keep_last
        self.higher_is_better = higher_is_better
        self.ranked: list[Ranked] = []  # best first
        self.latest: list[int] = []  # updates, the last one at the end
        self.waited = 0

    def add(self, score: float, update: int, loss: float | None = None, *, waiting: bool = True) -> bool:
        """Notes a validation; True if it is the best so far. A score that is not a number is never kept.

        Unless it is `waiting`, as while the learning rate still rises, patience does not run out.
        """
        if math.isnan(score):
            self.waited += waiting
            return False
        self.latest = [*self.latest, update][-self.keep_last :] if self.keep_last else []
        before = self.ranked[:1]
        better = not before or self._place(Ranked(score, 0))[0] < self._place(before[0])[0]
        self.waited = 0 if better else self.waited + waiting
        self.ranked = sorted([*self.ranked, Ranked(score, update, loss)], key=self._place)[: self.keep]
        return self.ranked[:1] != before

    def forget(self, update: int) -> None:
        """An update whose checkpoint there is not."""
        self.ranked = [one for one in self.ranked if one.update != update]
        self.latest = [one for one in self.latest if one != update]

    @property
    def updates(self) -> list[int]:
        """Updates that are kept, the best first."""
        return [one.update for one in self.ranked]

    @property
    def kept(self) -> list[int]:
        """Updates whose checkpoints are needed: the best and the last."""
        return [*dict.fromkeys([*self.updates, *self.latest])]

    @property
    def ended(self) -> str:
        """The reason to end training: patience has run out; "" while it has not."""
        if self.patience is None or self.waited < max(1, self.patience):
            return ""
        return f"no better {self.metric} in {self.patience} validations"

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        latest = {"latest": self.latest} if self.keep_last else {}
        return {"ranked": self.ranked, "waited": self.waited, **latest}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.ranked, self.waited = [Ranked(*one) for one in state["ranked"]], state["waited"]
        self.latest = state.get("latest", [])[-self.keep_last :] if self.keep_last else []

    def _place(self, one: Ranked) -> tuple[float, float, int]:
        """The smaller, the better; a loss that is unknown or no number is the worst, and the earlier wins at last."""
        loss = math.inf if one.loss is None or math.isnan(one.loss) else one.loss
        return -one.score if self.higher_is_better else one.score, loss, one.update


class Rankings(NamedTuple):
    """Validations, ranked by the criterion and by the metric; the same ranking where no criterion is given."""

    best: EarlyStopping  # by the criterion: which weights are selected
    gains: EarlyStopping  # by the metric: when training ends early, and which weights are averaged

    def add(self, scores: Scores, update: int, *, waiting: bool = True) -> bool:
        """Note a validation; True if it is the best so far."""
        added = [one.add(scores[one.metric], update, scores.get("loss"), waiting=waiting) for one in self.distinct]
        return added[0]

    @property
    def distinct(self) -> list[EarlyStopping]:
        """One or both."""
        return [self.best] if self.best is self.gains else [*self]

    @property
    def kept(self) -> set[int]:
        """Updates whose checkpoints are needed."""
        return {update for one in self.distinct for update in one.kept}

    def forget(self, update: int) -> None:
        """Drop an update whose checkpoint there is not."""
        for one in self.distinct:
            one.forget(update)

    def copied(self) -> "Rankings":
        """Return rankings to which may be added."""
        best = copy(self.best)
        return Rankings(best, best if self.best is self.gains else copy(self.gains))


class ModelSelection:
    """Validates a model every `validate_every` updates and ranks the updates by their scores."""

    def __init__(
        self,
        model: nn.Module,
        validate: Validate | None,
        settings: TrainingSettings,
        progress: Progress,
        world: World = ONE_PROCESS,
        *,
        higher_is_better: bool = False,
        criterion: str | None = None,
    ) -> None:
        """`higher_is_better` belongs to the metric. `criterion` names another score that selects the weights; higher is
        better.
        """
        self.model, self.validate, self.settings = model, validate, settings
        self.progress, self.world = progress, world
        last = settings.average if settings.average_of == "last" else 0
        ranking = partial(EarlyStopping, keep=settings.keep_best, patience=settings.patience, keep_last=last)
        gains = ranking(settings.metric, higher_is_better=higher_is_better)
        self.rankings = Rankings(ranking(criterion, higher_is_better=True) if criterion else gains, gains)
        self.due = False  # a validation of the current update has still to be made
        self.evaluated = -1  # the update of the last complete validation

    def after(self, update: int) -> None:
        """Note an update: a validation is due at every `validate_every`-th."""
        self.due = self.validate is not None and update % self.settings.validate_every == 0

    def lacks(self, update: int) -> bool:
        """Return whether an update could be validated and has not been."""
        return self.validate is not None and self.evaluated != update

    def scores(self, update: int, should_stop: ShouldStop) -> Scores | None:
        """Return the scores of the model as it is, which the first process finds; None if it was stopped on the way.

        Random numbers sampled here do not change those of training.
        """
        return self.world.by_first(lambda: self._scores(update, should_stop))

    def _scores(self, update: int, should_stop: ShouldStop) -> Scores | None:
        if self.validate is None:
            return None
        self.model.eval()
        try:
            devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
            where = f"in the validation at update {update:,}"
            with torch.random.fork_rng(devices), memory_errors_named(where, NARROWER):
                scores = self.validate(should_stop)
        finally:
            self.model.train()
        return None if should_stop() else scores

    def rank(self, scores: Scores, place: Mapping[str, Any], *, waiting: bool = True) -> None:
        """Rank the update of `place` by its scores, and log them; patience runs out only where it is `waiting`."""
        self.due, self.evaluated = False, place["update"]
        self._rank(scores, place, self.rankings, waiting=waiting)

    def rankings_with(self, scores: Scores, place: Mapping[str, Any]) -> Rankings:
        """Return the rankings with one more update.

        `rankings` are left as they are: resuming from here reproduces an uninterrupted run.
        """
        found = self.rankings.copied()
        self._rank(scores, place, found)
        return found

    def forget(self, update: int) -> None:
        """Drop an update whose checkpoint could not be written."""
        self.rankings.forget(update)
        self.evaluated = -1

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        best, *gains = [one.state() for one in self.rankings.distinct]
        return {"best": best, **({"gains": gains[0]} if gains else {}), "due": self.due, "validated": self.evaluated}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.rankings.best.restore(state["best"])
        if self.rankings.gains is not self.rankings.best and "gains" in state:  # which a checkpoint of before lacks
            self.rankings.gains.restore(state["gains"])
        self.due, self.evaluated = state["due"], state["validated"]

    def _rank(self, scores: Scores, place: Mapping[str, Any], rankings: Rankings, *, waiting: bool = True) -> None:
        self.progress.validation({**place, **scores}, rankings.add(scores, place["update"], waiting=waiting))
