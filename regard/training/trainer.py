"""The one trainer. It knows neither task nor objective by name."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import torch
from torch import nn

from regard.config import write_whole
from regard.data.batches import Cursor
from regard.errors import CheckpointError
from regard.memory import keep_memory
from regard.objectives import Objective
from regard.records import Batch
from regard.training import checkpoint as files
from regard.training.average import average
from regard.training.driven import Driven
from regard.training.interrupt import Interrupted, Interruption, listening
from regard.training.progress import Progress, remaining
from regard.training.settings import TrainingSettings
from regard.training.stopping import Best
from regard.training.updating import Updated, Updater

FINAL = "final.json"
AVERAGE = "average"

Validate = Callable[[Callable[[], bool]], Mapping[str, float]]  # given: whether to stop early


class Stream(Protocol):
    """Batches without end; `regard.data.batches.Batches` is one."""

    def stream(self, start: Cursor, *, workers: int) -> Iterator[tuple[Cursor, Batch]]:
        """Each batch with the cursor after it."""
        ...


class Report(NamedTuple):
    """How training ended."""

    updates: int
    seconds: float
    reason: str
    checkpoint: Path  # the one to use
    score: float | None


class Trainer:
    """Trains a model on a stream of batches, in a run folder."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        batches: Stream,
        *,
        settings: TrainingSettings,
        run: Path,
        validate: Validate | None = None,
        progress: Progress | None = None,
    ) -> None:
        keep_memory()
        self.model, self.objective, self.batches = model, objective, batches
        self.settings, self.run, self.validate = settings, run, validate
        self.progress = progress or Progress(run)
        self.updater = Updater(model, objective, settings)
        self.driven = Driven(settings, model, objective)
        self.best = Best(settings.metric, settings.keep_best, settings.patience)
        self.update, self.cursor, self.seconds = 0, Cursor(), 0.0
        self._window = _Window()
        self._due = False  # a validation that was begun and has to be done again
        self._validated = -1  # the update of the last validation
        self._saved = -1  # the update of the last checkpoint
        self._begun: Callable[[], None] | None = None  # until it has been called
        self._clock = self._since_save = time.monotonic()

    def train(self, *, resume: bool = False, begun: Callable[[], None] = lambda: None) -> Report:
        """Until a limit, or patience, is reached. Raises Interrupted after Ctrl-C or SIGTERM, when it has saved.

        `begun` is called once it is sure that settings and data go with the checkpoint to resume from: a run that
        cannot go on is left as it was.
        """
        self._begun = begun
        if resume:
            self._resume()
        else:
            self.progress.cut(0)
            torch.manual_seed(self.settings.seed)
        with listening() as interruption:
            reason = self._loop(interruption)
            self._save(needed=True)
            best = self._with_the_last(interruption)
            averaged = None
            if self.settings.average > 1 and self.validate is not None and len(best.updates) > 1:
                averaged = self._average(best, interruption)
        return self._finish(reason, best, averaged)

    def _loop(self, interruption: Interruption) -> str:
        self._clock = self._since_save = time.monotonic()
        self.model.train()
        self.objective.train()
        stream = self.batches.stream(self.cursor, workers=self.settings.workers)
        try:
            if self._due:
                self._after_update(interruption)
            while not (reason := self._over()):
                began = time.monotonic()
                micro = list(islice(stream, self.settings.accumulate))
                self._begin()
                rate = self.driven.drive(self.update + 1)
                done = self.updater.update([batch for _, batch in micro], rate, self.update + 1)
                self.update, self.cursor = self.update + 1, micro[-1][0]
                self._window.add(done, time.monotonic() - began)
                if self.update % self.settings.log_every == 0:
                    self._log(self._window.values(), rate)
                    self._window = _Window()
                self._due = self.validate is not None and self.update % self.settings.validate_every == 0
                self._after_update(interruption)
            self._begin()
            return reason
        finally:
            getattr(stream, "close", lambda: None)()

    def _begin(self) -> None:
        """Nothing of an earlier end stays; only the first call does anything."""
        if self._begun is not None:
            self._begun()
            self._begun = None
            (self.run / FINAL).unlink(missing_ok=True)
            files.remove(self.run / files.FOLDER / AVERAGE)

    def _after_update(self, interruption: Interruption) -> None:
        if self._due:
            self._validate(interruption)
        if interruption():
            self._end_early()
        if time.monotonic() - self._since_save > self.settings.save_every_minutes * 60:
            self._save()

    def _end_early(self) -> NoReturn:
        self._begin()
        self._save(needed=True)
        raise Interrupted(f"saved after update {self.update:,}")

    def _over(self) -> str:
        limits = self.settings
        if limits.max_updates is not None and self.update >= limits.max_updates:
            return f"{self.update:,} updates are done"
        if limits.max_epochs is not None and self.cursor.epoch >= limits.max_epochs:
            return f"{self.cursor.epoch} epochs are done"
        if limits.max_minutes is not None and self._elapsed() >= limits.max_minutes * 60:
            return f"{limits.max_minutes:g} minutes are over"
        return f"no better {limits.metric} in {limits.patience} validations" if self.best.over else ""

    def _validate(self, interruption: Interruption) -> None:
        scores = self._scores(interruption)
        if scores is None:
            return
        self._due, self._validated = False, self.update
        self._rank(scores, self.best)
        self.driven.observe(scores[self.settings.metric], self.best.higher_is_better)
        if not self._save():
            self.best.forget(self.update)
            self._validated = -1

    def _with_the_last(self, interruption: Interruption) -> Best:
        """The ranking of the end: with the last update, if no validation fell on it.

        Neither schedules nor the checkpoint hear of it, and no checkpoint goes for it: whoever trains on from here
        comes to the very run that never ended here.
        """
        if self.validate is None or self._validated == self.update:
            return self.best
        scores = self._scores(interruption)
        if scores is None:
            self._end_early()
        best = self.best.copy()
        self._rank(scores, best)
        return best

    def _rank(self, scores: Mapping[str, float], best: Best) -> None:
        first = best.add(scores[self.settings.metric], self.update, scores.get("loss"))
        values = {"update": self.update, "epoch": self.cursor.epoch, "seconds": round(self._elapsed(), 2), **scores}
        self.progress.validation(values, first)

    def _scores(self, interruption: Interruption) -> Mapping[str, float] | None:
        """None where there are none, or not all of them in time. What it draws is not taken from the training."""
        if self.validate is None:
            return None
        self.model.eval()
        try:
            with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
                scores = self.validate(interruption)
        finally:
            self.model.train()
        return None if interruption() else scores

    def _save(self, *, needed: bool = False) -> bool:
        """A disk that is full now may not be later: only the last checkpoint of all must be written."""
        if self._saved != self.update and not self._write(needed):
            return False
        kept = {files.step_folder(self.run, update) for update in [self.update, *self.best.updates]}
        for old in files.steps(self.run):
            if old not in kept:
                files.remove(old)
        return True

    def _write(self, needed: bool) -> bool:
        if not self.run.is_dir():  # it must not come into being again as half a run
            raise CheckpointError(self.run, "the run folder is gone", "moved or deleted while it was trained?")
        self._since_save = time.monotonic()
        state = {
            "update": self.update, "cursor": self.cursor, "seconds": self._elapsed(), "best": self.best.state(),
            "driven": self.driven.state(), "metrics": self.progress.position(),
            "window": asdict(self._window), "due": self._due, "validated": self._validated,
        }  # fmt: skip
        folder = files.step_folder(self.run, self.update)
        try:
            files.save(folder, self.model, state, objective=self.objective, optimizers=self.updater.optimizers)
        except CheckpointError as error:
            if needed:
                raise
            self.progress.warn(f"{error}; training goes on, the earlier checkpoint is kept")
            return False
        self._saved = self.update
        return True

    def _resume(self) -> None:
        checkpoint, warnings = files.latest_valid(self.run)
        for warning in warnings:
            self.progress.warn(warning)
        state = checkpoint.state
        files.load_model(self.model, checkpoint)
        files.load_training(checkpoint, self.objective, self.updater.optimizers)
        self.update = self._saved = state["update"]
        self.cursor, self.seconds = Cursor(*state["cursor"]), state["seconds"]
        self._window, self._due = _Window(**state["window"]), state["due"]
        self._validated = state.get("validated", -1)  # not known of older runs
        self.best.restore(state["best"])
        for update in self.best.updates:
            self._check_best(files.step_folder(self.run, update), update)
        self.driven.restore(state["driven"])
        self.driven.drive(max(1, self.update))  # a validation may come before the next update
        self.progress.cut(state["metrics"])
        files.clear(self.run)

    def _check_best(self, folder: Path, update: int) -> None:
        try:
            files.load(folder, training=False)
        except CheckpointError as error:
            if folder.exists():  # else a later checkpoint, now damaged, took its place
                self.progress.warn(f"{folder}: {error.problem}")
            self.best.forget(update)

    def _average(self, best: Best, interruption: Interruption) -> float | None:
        """The mean of the best checkpoints, kept if it scores better than the best of them; its score then."""
        chosen = best.updates[: self.settings.average]
        try:
            models = [files.load(files.step_folder(self.run, update)).model for update in chosen]
        except CheckpointError as error:
            self.progress.warn(f"{error}; the best are not averaged")
            return None
        before = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.model.load_state_dict(average(models))
        scores = self._scores(interruption)
        if scores is None:
            self._end_early()
        score = scores[self.settings.metric]
        first = best.copy().add(score, self.update + 1, scores.get("loss"))
        better = first and self._save_average({"averaged": chosen, "score": score})
        self.model.load_state_dict(before)
        if not better:
            return None
        self.progress.say(f"the mean of the {len(models)} best has {self.settings.metric} {score:.2f} and is kept")
        return score

    def _save_average(self, state: dict[str, Any]) -> bool:
        try:
            files.save(self.run / files.FOLDER / AVERAGE, self.model, {"update": self.update, **state})
        except CheckpointError as error:
            self.progress.warn(f"{error}; the best is kept instead")
            return False
        return True

    def _finish(self, reason: str, best: Best, averaged: float | None) -> Report:
        folder, score = files.step_folder(self.run, self.update), averaged
        if averaged is not None:
            folder = self.run / files.FOLDER / AVERAGE
        elif best.ranked:
            score = best.ranked[0].score
            folder = files.step_folder(self.run, best.ranked[0].update)
        final = {"checkpoint": folder.name, "metric": self.settings.metric, "score": score, "reason": reason}
        self._write_final(json.dumps(final, indent=1))
        return Report(self.update, self._elapsed(), reason, folder, score)

    def _write_final(self, text: str) -> None:
        path = self.run / FINAL
        try:
            write_whole(path, text)
        except OSError as error:
            problem = f"could not be written: {error.strerror or error}"
            raise CheckpointError(path, problem, "is the disk full?") from error

    def _log(self, window: "dict[str, float]", rate: float) -> None:
        values: dict[str, Any] = {
            "update": self.update, "epoch": self.cursor.epoch, "seconds": round(self._elapsed(), 2),
            "learning_rate": rate, **window,
        }  # fmt: skip
        self.progress.update(values, remaining(self._left()))

    def _left(self) -> float | None:
        guesses = []
        if self.settings.max_updates is not None:
            guesses.append((self.settings.max_updates - self.update) * self._elapsed() / max(1, self.update))
        if self.settings.max_minutes is not None:
            guesses.append(self.settings.max_minutes * 60 - self._elapsed())
        return max(0.0, min(guesses)) if guesses else None

    def _elapsed(self) -> float:
        return self.seconds + time.monotonic() - self._clock


@dataclass
class _Window:
    """Sums since the last line of the log."""

    loss: float = 0.0
    norm: float = 0.0
    tokens: int = 0
    updates: int = 0
    seconds: float = 0.0  # of updates

    def add(self, done: Updated, seconds: float) -> None:
        self.loss += done.loss * done.tokens
        self.norm += done.norm
        self.tokens += done.tokens
        self.updates += 1
        self.seconds += seconds

    def values(self) -> dict[str, float]:
        return {
            "loss": self.loss / max(1, self.tokens),
            "norm": self.norm / max(1, self.updates),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }
