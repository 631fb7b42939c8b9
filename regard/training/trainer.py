"""The one trainer. It knows neither task nor objective by name."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import torch
from torch import nn

from regard.data.streams import Place, Stream, epoch_of, saved_place
from regard.errors import CheckpointError
from regard.objectives import Objective
from regard.ops.memory import keep_memory, telling_of_memory
from regard.records import Batch
from regard.training import checkpoint as files
from regard.training.driven import Driven
from regard.training.final import Final
from regard.training.interrupt import Interrupted, Interruption, listening
from regard.training.progress import Progress, remaining
from regard.training.settings import TrainingSettings
from regard.training.stopping import Best
from regard.training.updating import Updater
from regard.training.window import Window

NARROWER = "Try --resume with a smaller decoding.batch_tokens, or a narrower search"
Validate = Callable[[Callable[[], bool]], Mapping[str, float]]  # given: whether to stop early


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
        self.final = Final(model, settings, run, self.progress)
        self.update, self.seconds, self.core_seconds = 0, 0.0, 0.0
        self.place: Place | None = None  # in the stream; None: its beginning
        self._window = Window()
        self._due = False  # a validation that was begun and has to be done again
        self._validated = -1  # the update of the last validation
        self._saved = -1  # the update of the last checkpoint
        self._begun: Callable[[], None] | None = None  # until it has been called
        self._clock = self._since_save = time.monotonic()
        self._core_clock = time.process_time()

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
            averaged = self.final.average(best, self.update, lambda: self._judge(interruption))
        folder, score = self.final.write(reason, self.update, best, averaged)
        return Report(self.update, self._elapsed(), reason, folder, score)

    def _loop(self, interruption: Interruption) -> str:
        self._clock = self._since_save = time.monotonic()
        self._core_clock = time.process_time()
        self.model.train()
        self.objective.train()
        with closing(self.batches.stream(self.place, workers=self.settings.workers)) as stream:
            if self._due:
                self._after_update(interruption)
            while not (reason := self._over()):
                self._take(stream)
                self._due = self.validate is not None and self.update % self.settings.validate_every == 0
                self._after_update(interruption)
        self._begin()
        return reason

    def _take(self, stream: Iterator[tuple[Place, Batch]]) -> None:
        """One update, and a line of the log where one is due."""
        began, core_began = time.monotonic(), time.process_time()
        micro = list(islice(stream, self.settings.accumulate))
        self._begin()
        rate = self.driven.drive(self.update + 1)
        done = self.updater.update([batch for _, batch in micro], rate, self.update + 1)
        self.update, self.place = self.update + 1, micro[-1][0]
        self._window.add(done, time.monotonic() - began, time.process_time() - core_began)
        if self.update % self.settings.log_every == 0:
            self._log(self._window.values(), rate)
            self._window = Window()

    def _begin(self) -> None:
        """Only the first call does anything."""
        if self._begun is not None:
            self._begun()
            self._begun = None
            self.final.clear()

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
        if limits.max_epochs is not None and epoch_of(self.place) >= limits.max_epochs:
            return f"{epoch_of(self.place)} epochs are done"
        if limits.max_minutes is not None and self._elapsed() >= limits.max_minutes * 60:
            return f"{limits.max_minutes:g} minutes are over"
        if limits.max_core_minutes is not None and self._core_elapsed() >= limits.max_core_minutes * 60:
            return f"{limits.max_core_minutes:g} minutes of processor time are over"
        if self.best.over:
            return f"no better {limits.metric} in {limits.patience} validations"
        return self.driven.rate.ended

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
        best = self.best.copy()
        self._rank(self._judge(interruption), best)
        return best

    def _judge(self, interruption: Interruption) -> Mapping[str, float]:
        """The scores of the model as it is now, when training itself is over."""
        scores = self._scores(interruption)
        if scores is None:
            self._end_early()
        return scores

    def _rank(self, scores: Mapping[str, float], best: Best) -> None:
        first = best.add(scores[self.settings.metric], self.update, scores.get("loss"))
        self.progress.validation({**self._place(), **scores}, first)

    def _scores(self, interruption: Interruption) -> Mapping[str, float] | None:
        """None where there are none, or not all of them in time. What it draws is not taken from the training."""
        if self.validate is None:
            return None
        self.model.eval()
        try:
            devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
            where = f"in the validation at update {self.update:,}"
            with torch.random.fork_rng(devices), telling_of_memory(where, NARROWER):
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
            "update": self.update, "place": self.place, "seconds": self._elapsed(),
            "core_seconds": self._core_elapsed(), "best": self.best.state(), "driven": self.driven.state(),
            "metrics": self.progress.position(),
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
        self.place, self.seconds = saved_place(state), state["seconds"]
        self.core_seconds = state.get("core_seconds", 0.0)  # not known of older runs
        self._window, self._due = Window.of(state["window"]), state["due"]
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

    def _log(self, window: dict[str, float], rate: float) -> None:
        self.progress.update({**self._place(), "learning_rate": rate, **window}, remaining(self._left()))

    def _place(self) -> dict[str, Any]:
        """Where training is, for the log."""
        seconds, core_seconds = round(self._elapsed(), 2), round(self._core_elapsed(), 2)
        return {"update": self.update, "epoch": epoch_of(self.place), "seconds": seconds, "core_seconds": core_seconds}

    def _left(self) -> float | None:
        """Seconds until the first limit, at the pace of the last updates: all seconds so far hold every halt of the
        machine, of which processor time tells nothing.
        """
        pace = self._window.seconds / max(1e-9, self._window.core_seconds)
        guesses = []
        if self.settings.max_updates is not None:
            each = self._core_elapsed() / max(1, self.update)
            guesses.append((self.settings.max_updates - self.update) * each * pace)
        if self.settings.max_minutes is not None:
            guesses.append(self.settings.max_minutes * 60 - self._elapsed())
        if self.settings.max_core_minutes is not None:
            guesses.append((self.settings.max_core_minutes * 60 - self._core_elapsed()) * pace)
        return max(0.0, min(guesses)) if guesses else None

    def _elapsed(self) -> float:
        return self.seconds + time.monotonic() - self._clock

    def _core_elapsed(self) -> float:
        return self.core_seconds + time.process_time() - self._core_clock
