"""The one trainer. It knows neither task nor objective by name."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import torch
from torch import nn

from regard.data.streams import Shard, Stream, StreamPlace, epoch_of, saved_place
from regard.errors import CheckpointError, ConfigError
from regard.objectives import Objective
from regard.records import Batch
from regard.training import checkpoint as files
from regard.training.best_checkpoints import BestCheckpoints
from regard.training.checkpoint import upgraded_state
from regard.training.clock import (
    WARMUP,
    Clock,
    ClockTime,
    Starvation,
    allowed_updates,
    limit_reached,
    longest_warmup,
    seconds_left,
    updates_in_time,
)
from regard.training.interrupt import Interrupted, Interruption, listening_to_signals
from regard.training.model_selection import ModelSelection, Rankings, Scores, Validate
from regard.training.progress import LogWindow, Progress, remaining
from regard.training.schedules import Schedule, Scheduled
from regard.training.settings import LIMITS, TrainingSettings
from regard.training.updater import Updater
from regard.training.world import ONE_PROCESS, World

_NEVER = 0  # in place of the updates that are allowed: a run of an earlier version goes on with its own warm-up
_MEANS = 0.2  # of a time limit: for means of the start and the trained weights
_SLOWER = 0.8  # of the updates that a time seemed to allow: a warm-up is shortened again where it allows fewer


class TrainingReport(NamedTuple):
    """The outcome of training."""

    updates: int
    seconds: float
    reason: str
    checkpoint: Path  # the one to use
    score: float | None
    rising: str  # why more updates may help, such as a last score better than all others; "" where they may not


class Trainer:
    """Trains a model on a stream of batches, in a run folder: `prepare`, then `train`."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        batches: Stream,
        *,
        settings: TrainingSettings,
        run: Path,
        validate: Validate | None = None,
        higher_is_better: bool = False,
        progress: Progress | None = None,
        world: World = ONE_PROCESS,
        halvings: int = 0,
        validate_start: bool = False,
        criterion: str | None = None,
    ) -> None:
        """`higher_is_better` is of the metric in the settings; a loss is better the smaller it is. `criterion` is a
        score that selects the weights in its place; patience counts validations without a better metric. With
        `halvings` each batch is halved that many times, since a whole one would not fit into memory. `validate_start`
        ranks the weights before the first update, too.

        With several processes, all of them build one, with the same weights.
        """
        self.model, self.objective, self.batches = model, objective, batches
        self.settings, self.run, self.world = settings, run, world
        self.progress = progress or Progress(run, silent=not world.first)
        self.updater = Updater(model, objective, settings, world, halvings=halvings)
        self.scheduled = Scheduled(settings, model, objective)
        self.selection = ModelSelection(
            model, validate, settings, self.progress, world, higher_is_better=higher_is_better, criterion=criterion
        )
        self.best_checkpoints = BestCheckpoints(model, settings, run, self.progress, world)
        self.validate_start = validate_start
        self.update, self.clock, self.starvation = 0, Clock(), Starvation()
        self.place: StreamPlace | None = None  # in the stream; None: its beginning
        self.allowed: int | None = None  # updates that the limits allow, where warm-ups were shortened to fit
        self.window = LogWindow()  # updates since the last line of the log
        self.most: int | None = None  # updates that limits of updates and epochs allow, where schedules are open
        self.saved: dict[str, files.Saved] = {  # by the names that they have in a checkpoint
            "turns": self.updater.turns,
            "schedules": self.scheduled,
            "window": self.window,
        }
        self.validation = ClockTime()  # of the last one
        self._interruption = Interruption()  # of this process
        self._asked = False  # whether any process was asked to end, as of their last meeting
        self._open = ExitStack()  # closes the stream
        self._ahead: list[tuple[StreamPlace, Batch]] = []  # batches of the next update that are read already
        self._logged = 0  # bytes of the log that belong to the checkpoint
        self._saved, self._saved_at = -1, 0.0  # the last checkpoint: its update, and seconds of training then

    @property
    def open_schedules(self) -> list[Schedule]:
        """Schedules that end where the training does."""
        return [one for one in (*self.updater.turns.schedules, *self.scheduled.schedules.values()) if one.open]

    def prepare(self, *, resume: bool = False) -> Self:
        """Restore the latest checkpoint, if there is one to resume from, and read the first batches.

        Raises RegardError for settings or data that do not go with the checkpoint. The run folder is left as it was.
        """
        if self.open_schedules and not any(getattr(self.settings, limit) for limit in LIMITS):
            problem = "must be given: no limit ends the training, so the rate has no last update"
            raise ConfigError("training.schedule.updates", problem, "training.schedule.updates=10000, or a limit")
        with listening_to_signals(self._interruption):
            self.world.in_order(lambda: self._prepare(resume))
        return self

    def _prepare(self, resume: bool) -> None:
        self.most = allowed_updates(self.settings, self._all_updates_of) if self.open_schedules else None
        if resume:
            self._restore(*files.latest_valid(self.run))
        else:
            torch.manual_seed(self.world.seed(self.settings.seed))
        if self.updater.halvings:
            self._tell_halved()
        self._fit_warmup(allowed_updates(self.settings, self._updates_of_epochs))
        shard = Shard(self.world.rank, self.world.size)
        stream = self.batches.stream(self.place, workers=self.settings.workers, shard=shard)
        self._stream: Iterator[tuple[StreamPlace, Batch]] = self._open.enter_context(closing(stream))
        if not self._over():
            self._ahead = self._draw()

    def train(self) -> TrainingReport:
        """Train until a limit, or patience, is reached. Raises Interrupted after Ctrl-C or SIGTERM, having saved."""
        self.progress.cut(self._logged)
        self.world.by_first(self.best_checkpoints.clear)
        with self._open, listening_to_signals(self._interruption):
            reason = self._loop()
            self._save(needed=True)
            rankings = self._final_rankings()
            averaged = self.best_checkpoints.average(rankings, self.update, self._final_scores, self._start_means())
        best = rankings.best
        folder, score = self.best_checkpoints.write(reason, self.update, best, averaged)
        last = best.updates[:1] == [self.update] and not best.waited
        rising = "" if not last else "still improving" if len(best.updates) > 1 else "validated once"
        return TrainingReport(self.update, self.clock.spent.wall, reason, folder, score, rising)

    def _loop(self) -> str:
        """Return why it ended."""
        self.model.train()
        self.objective.train()
        self.clock.restart()
        self._meet()
        if self.selection.due or (self.validate_start and not self.update and self.selection.lacks(0)):
            self.selection.due = True
            self._after_update()
        while not (reason := self._over()):
            self._take_update()
            self.selection.after(self.update)
            self._after_update()
        return reason

    def _over(self) -> str:
        """Return why training ends here; "" where one more update and the validations of the end fit the limits."""
        spent = self.clock.spent + self._ending()
        reached = limit_reached(self.settings, self.update, epoch_of(self.place), spent)
        return reached or self.selection.rankings.gains.ended or self.updater.turns.ended

    def _ending(self) -> ClockTime:
        """Return the time of validating one more update and the means, each as long as the last validation."""
        lacks = self.selection.lacks(self.update + 1)
        averages = min(len(self.selection.rankings.gains.updates) + lacks, self.settings.average) > 1
        return sum([self.validation] * (lacks + averages + self._start_means()), ClockTime())

    def _start_means(self) -> int:
        """Return the number of means with the start to try: as many as are wanted, in a fifth of a time limit."""
        wall, core = self.settings.max_minutes, self.settings.max_core_minutes
        limits = [(wall, self.validation.wall), (core, self.validation.core)]
        fitting = [int(_MEANS * 60 * limit / max(1e-9, each)) for limit, each in limits if limit]
        return min([self.settings.start_means, *fitting])

    def _updates_of_epochs(self, epochs: int) -> int:
        """Return the updates in `epochs` epochs, or a number for which no warm-up is too long."""
        size = self.settings.accumulate * self.world.size
        return self.batches.count(epochs, int(self.updater.turns.rise / WARMUP + 1) * size) // size

    def _all_updates_of(self, epochs: int) -> int:
        """Return the updates in `epochs` epochs, by the first one."""
        return max(1, epochs * self.batches.count(1, sys.maxsize) // (self.settings.accumulate * self.world.size))

    def _fit_schedules(self) -> None:
        """Report the updates that the limits allow, of time at the pace so far, to the schedules that end there."""
        limits = [self.most, updates_in_time(self.settings, self.update, self.clock.spent)]
        if known := [one for one in limits if one is not None]:
            for schedule in self.open_schedules:
                schedule.expect(min(known))

    def _fit_warmup(self, allowed: int | None) -> None:
        """Shorten warm-ups that would take too much of the updates that are allowed; they stay so in this run."""
        rise, turns = self.updater.turns.rise, self.updater.turns
        if not allowed or self.allowed == _NEVER or longest_warmup(allowed) >= rise:
            return
        if self.allowed and allowed > _SLOWER * self.allowed:
            return
        self.allowed = allowed
        turns.shorten_rise(longest_warmup(allowed))
        if self.update < rise:
            limits = f"the limits allow about {allowed:,} updates"
            self.progress.say(f"the warm-up of {rise:,} updates is shortened to {turns.rise:,}: {limits}")

    def _draw(self) -> list[tuple[StreamPlace, Batch]]:
        """Batches of one update, each with the place behind it."""
        return list(islice(self._stream, self.settings.accumulate))

    def _take_update(self) -> None:
        """One update, and a line of the log where one is due."""
        drawn, self._ahead = self._ahead or self._draw(), []
        self._fit_schedules()
        self.scheduled.apply(self.update + 1)
        halvings = self.updater.halvings
        done = self.updater.update([batch for _, batch in drawn], self.update + 1)
        if self.updater.halvings > halvings:
            self._tell_halved()
        self.update, self.place = self.update + 1, drawn[-1][0]
        self.window.add(done, self._meet())
        logs = self.update % self.settings.log_every == 0
        if logs or self.progress.due:
            values = {**self._place(), **self.window.values()}
            left = seconds_left(self.settings, self.update, self.clock.spent, self.window.spent)
            tell = self.progress.update if logs else self.progress.show
            tell(values, remaining(left, self.clock.spent.wall))
        if logs:
            threads = torch.get_num_threads() * self.world.size if self.updater.device.type == "cpu" else 0
            if warning := self.starvation.warning(self.window.spent, threads):
                self.progress.warn(warning)
            self.window.clear()
        if self.update < self.updater.turns.rise:
            self._fit_warmup(updates_in_time(self.settings, self.update, self.clock.spent))

    def _tell_halved(self) -> None:
        pieces = 2**self.updater.halvings
        self.progress.warn(
            f"memory does not suffice for batches of {self.settings.batch_size}: from update {self.update + 1:,} on "
            f"each is learnt from in {pieces} pieces, whose gradients are summed; the result is as of whole batches"
        )

    def _after_update(self) -> None:
        if self.selection.due and not self._asked:
            self._validate()
        if self._asked:
            self._end_early()
        if self.clock.spent.wall - self._saved_at > self.settings.save_every_minutes * 60:
            self._save()

    def _end_early(self) -> NoReturn:
        self._save(needed=True)
        raise Interrupted(f"saved after update {self.update:,}")

    def _validate(self) -> None:
        """Validate and rank this update, and save it. An interruption leaves it to be done again."""
        if (scores := self._scores()) is None:
            return
        self.selection.rank(scores, self._place(), waiting=self.update >= self.updater.turns.rise)
        for schedules in (self.updater.turns, self.scheduled):
            schedules.observe(scores[self.settings.metric], self.selection.rankings.gains.higher_is_better)
        if not self._save():
            self.selection.forget(self.update)

    def _final_rankings(self) -> Rankings:
        """The rankings with the last update, also where no validation fell on it."""
        if not self.selection.lacks(self.update):
            return self.selection.rankings
        return self.selection.rankings_with(self._final_scores(), self._place())

    def _final_scores(self) -> Scores:
        """The scores of the model as it is, when training itself is over."""
        if (scores := self._scores()) is None:
            self._end_early()
        return scores

    def _scores(self) -> Scores | None:
        with self.updater.gathered():
            scores = self.selection.scores(self.update, self._interruption)
        lap = self._meet()
        self.validation = self.validation if scores is None else lap
        return scores

    def _meet(self) -> ClockTime:
        """Add up what all processes have spent since their last meeting, and hear if one of them was asked to end."""
        laps, asked = zip(*self.world.gather((self.clock.lap(), self._interruption())), strict=True)
        self._asked = any(asked)
        return self.clock.add(laps)

    def _save(self, *, needed: bool = False) -> bool:
        """Write a checkpoint and remove those that are no longer kept. False where the disk does not take it.

        A disk that is full now may not be later: only the last checkpoint of all is `needed`.
        """
        if self._saved != self.update:
            self._saved_at = self.clock.spent.wall
            content = files.content_of(self.model, self.objective, self.updater.turns.optimizers, self.world)
            if not self.world.by_first(lambda: self._write(content, needed)):
                return False
            self._saved = self.update
        self.world.by_first(lambda: self.best_checkpoints.keep(self.update, self.selection.rankings))
        return True

    def _write(self, content: files.Content, needed: bool) -> bool:
        if not self.run.is_dir():  # it must not come into being again as half a run
            raise CheckpointError(self.run, "the run folder is gone", "moved or deleted while it was trained?")
        state = {
            "update": self.update,
            "processes": self.world.size,
            "place": self.place,
            "seconds": self.clock.spent.wall,
            "core_seconds": self.clock.spent.core,
            "validation_seconds": [self.validation.wall, self.validation.core],
            "halvings": self.updater.halvings,
            "allowed": self.allowed,
            "metrics": self.progress.position(),
            **self.selection.state(),
            **{name: part.state() for name, part in self.saved.items()},
        }
        try:
            files.write(files.step_folder(self.run, self.update), content, state)
        except CheckpointError as error:
            if needed:
                raise
            self.progress.warn(f"{error}; training goes on, the earlier checkpoint is kept")
            return False
        return True

    def _restore(self, checkpoint: files.Checkpoint, warnings: list[str]) -> None:
        for warning in warnings:
            self.progress.warn(warning)
        self.world.check_resumed(self.run, checkpoint.state.get("processes", 1))
        files.load_model(self.model, checkpoint)
        files.load_training(checkpoint, self.objective, self.updater.turns.optimizers, self.world.rank)
        state = upgraded_state(checkpoint.state)
        self.update = self._saved = state["update"]
        self.place, self._logged = saved_place(state), state["metrics"]
        self.clock.spent = ClockTime(state["seconds"], state["core_seconds"])
        self.validation = ClockTime(*state.get("validation_seconds", ()))  # a checkpoint of before has none
        self._saved_at = self.clock.spent.wall
        self.selection.restore(state)
        for name, part in self.saved.items():
            if name in state:  # a checkpoint of before lacks what is new
                part.restore(state[name])
        self.updater.halvings = state.get("halvings", 0)  # a checkpoint of before has none
        if state.get("allowed", _NEVER) == _NEVER:
            self.allowed = _NEVER
        else:
            self._fit_warmup(state["allowed"])
        self._fit_schedules()
        self.scheduled.apply(max(1, self.update))  # a validation may come before the next update
        self.best_checkpoints.forget_damaged(self.selection.rankings)

    def _place(self) -> dict[str, Any]:
        """Return where training is, for the log."""
        seconds = {"seconds": round(self.clock.spent.wall, 2), "core_seconds": round(self.clock.spent.core, 2)}
        return {"update": self.update, "epoch": epoch_of(self.place), **seconds}
