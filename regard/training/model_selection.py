"""Model selection while a model is trained: validations, the ranking of updates by them, and patience."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from regard.ops.memory import telling_of_memory
from regard.training.early_stopping import EarlyStopping
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.world import ALONE, World

NARROWER = "Try --resume with a smaller decoding.batch_tokens, or a narrower search"

Scores = Mapping[str, float]
ShouldStop = Callable[[], bool]
Validate = Callable[[ShouldStop], Scores]


class ModelSelection:
    """Validates a model every `validate_every` updates and ranks the updates by their scores."""

    def __init__(
        self,
        model: nn.Module,
        validate: Validate | None,
        settings: TrainingSettings,
        progress: Progress,
        world: World = ALONE,
        *,
        higher_is_better: bool = False,
    ) -> None:
        self.model, self.validate, self.settings = model, validate, settings
        self.progress, self.world = progress, world
        self.best = EarlyStopping(
            settings.metric,
            settings.keep_best,
            settings.patience,
            higher_is_better=higher_is_better,
            keep_last=settings.average if settings.average_of == "last" else 0,
        )
        self.due = False  # a validation of the current update has still to be made
        self.judged = -1  # the update of the last complete validation

    def after(self, update: int) -> None:
        """Note an update: a validation is due at every `validate_every`-th."""
        self.due = self.validate is not None and update % self.settings.validate_every == 0

    def lacks(self, update: int) -> bool:
        """Whether an update could be judged and has not been."""
        return self.validate is not None and self.judged != update

    def scores(self, update: int, should_stop: ShouldStop) -> Scores | None:
        """Return the scores of the model as it is, which the first process finds; None if it was stopped on the way.

        Random numbers drawn here do not change those of training.
        """
        return self.world.by_first(lambda: self._scores(update, should_stop))

    def _scores(self, update: int, should_stop: ShouldStop) -> Scores | None:
        if self.validate is None:
            return None
        self.model.eval()
        try:
            devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
            where = f"in the validation at update {update:,}"
            with torch.random.fork_rng(devices), telling_of_memory(where, NARROWER):
                scores = self.validate(should_stop)
        finally:
            self.model.train()
        return None if should_stop() else scores

    def rank(self, scores: Scores, place: Mapping[str, Any], *, waiting: bool = True) -> None:
        """Rank the update of `place` by its scores, and log them; patience runs out only where it is `waiting`."""
        self.due, self.judged = False, place["update"]
        self._rank(scores, place, self.best, waiting=waiting)

    def ranking_with(self, scores: Scores, place: Mapping[str, Any]) -> EarlyStopping:
        """Return the ranking with one more update.

        `best` is left as it is: resuming from here reproduces an uninterrupted run.
        """
        best = self.best.copy()
        self._rank(scores, place, best)
        return best

    def forget(self, update: int) -> None:
        """Drop an update whose checkpoint could not be written."""
        self.best.forget(update)
        self.judged = -1

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"best": self.best.state(), "due": self.due, "validated": self.judged}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The way back."""
        self.best.restore(state["best"])
        self.due, self.judged = state["due"], state["validated"]

    def _rank(self, scores: Scores, place: Mapping[str, Any], best: EarlyStopping, *, waiting: bool = True) -> None:
        first = best.add(scores[self.settings.metric], place["update"], scores.get("loss"), waiting=waiting)
        self.progress.validation({**place, **scores}, first)
