"""Progress of training on the terminal and in metrics.jsonl."""

import json
import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from regard.objectives.objective import MAIN
from regard.training.checkpoint import METRICS_FILE
from regard.training.clock import ClockTime
from regard.training.updater import TurnStep, Updated

PLACE = ("update", "epoch", "seconds", "core_seconds")  # where training is
PRINTED = (*PLACE, "loss", "norm", "tokens_per_second", "tokens_per_core_second", "learning_rate")  # in their own words
FIRST_SECONDS = 5.0  # of training, until there is a first line
_TERMINAL_SECONDS, _PLAIN_SECONDS = 0.5, 15.0  # between lines: a terminal's is redrawn, others stay
_BAR = 16  # characters
_EXPLAINED = -1.0  # in place of the last loss of training


class Progress:
    """Lines of `metrics.jsonl`, and the same for a person: one line redrawn on a terminal, else one now and then."""

    def __init__(self, run: Path, *, quiet: bool = False, silent: bool = False) -> None:
        """`quiet` leaves only warnings and the file; `silent`, for all processes but the first, leaves nothing."""
        self.path, self.quiet, self.silent = run / METRICS_FILE, quiet or silent, silent
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)  # a [ in a name is a [
        self._pause = _TERMINAL_SECONDS if self.console.is_terminal else _PLAIN_SECONDS
        self._shown = time.monotonic() + FIRST_SECONDS - self._pause
        self._full = False
        self._loss = 0.0  # of training, the last one

    def position(self) -> int:
        """Bytes of `metrics.jsonl` so far: a resumed run cuts it there, so that no line is written twice."""
        return self.path.stat().st_size if self.path.exists() else 0

    def cut(self, position: int) -> None:
        """Forgets what was written after a checkpoint."""
        if not self.silent and self.position() > position:
            os.truncate(self.path, position)

    @property
    def due(self) -> bool:
        """True once a person has waited long enough for a line."""
        return not self.quiet and time.monotonic() - self._shown >= self._pause

    def update(self, values: Mapping[str, Any], left: str) -> None:
        """After some updates: loss, speed, what is left."""
        self._write({"event": "update", **values})
        if self._loss != _EXPLAINED:
            self._loss = values.get("loss", 0.0)
        if self.due or (self.console.is_terminal and not self.quiet):
            self.show(values, left)

    def show(self, values: Mapping[str, Any], left: str) -> None:
        """The same for a person alone."""
        self._shown = time.monotonic()
        parts = "".join(_part(name, value) for name, value in values.items() if name not in PRINTED)
        line = (
            f"update {values['update']:,} · epoch {values['epoch']} · train loss {values['loss']:.3f} · {parts}"
            f"{values['tokens_per_second']:,.0f} tokens/s · learning rate {values['learning_rate']:.2e}{left}"
        )
        if self.console.is_terminal:
            self.console.print(line, end="\r", overflow="ellipsis", no_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def validation(self, values: Mapping[str, Any], best: bool) -> None:
        """After a validation: the scores."""
        self._write({"event": "validation", **values, "best": best})
        scores = " · ".join(f"dev {name} {value:.2f}" for name, value in values.items() if name not in PLACE)
        self.say(f"update {values['update']:,} · {scores}{' · best so far' if best else ''}")
        if self._loss > values.get("loss", math.inf):
            self.say("train loss is above dev loss: it includes dropout and label smoothing, dev loss does not")
            self._loss = _EXPLAINED

    def say(self, line: str) -> None:
        """Something a person should know."""
        if not self.quiet:
            self._clear()
            self.console.print(line, soft_wrap=True)

    def warn(self, line: str) -> None:
        """Something a person must know."""
        if self.silent:
            return
        self._clear()
        self.console.print(f"warning: {line}", soft_wrap=True, style="yellow")

    def _clear(self) -> None:
        """Erase the line of progress."""
        if self.console.is_terminal:
            self.console.control(Control((ControlType.ERASE_IN_LINE, 2)))

    def _write(self, values: Mapping[str, Any]) -> None:
        if self.silent:
            return
        position = self.position()
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: _plain(value) for name, value in values.items()}) + "\n")
        except OSError as error:  # a full disk: training is worth more than its log
            self.cut(position)  # no half lines
            if not self._full:
                self.warn(f"{self.path} cannot be written: {error.strerror or error}; training goes on")
            self._full = True
        else:
            self._full = False


def _part(name: str, value: float) -> str:
    """A part of the loss, or the loss and rate of another turn, for the line that a person sees."""
    last = name.rpartition(".")[2]
    return "" if last == "norm" else f"{name} {value:.2e} · " if last == "learning_rate" else f"{name} {value:.3f} · "


def _plain(value: Any) -> Any:
    """Return a JSON value; NaN and infinity become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def remaining(seconds: float | None, spent: float) -> str:
    """· ━━━━━━━━──────── 50 % · 12 min left"""
    if seconds is None:
        return ""
    share = spent / max(1e-9, spent + seconds)
    filled = round(_BAR * share)
    bar = f" · {'━' * filled}{'─' * (_BAR - filled)} {100 * share:.0f} %"
    return bar + (f" · {seconds / 60:.0f} min left" if seconds >= 90 else f" · {seconds:.0f} s left")


@dataclass
class TurnWindow:
    """Sums over the updates that took a turn; `loss` and `parts` times tokens."""

    loss: float = 0.0
    norm: float = 0.0
    rate: float = 0.0  # the last one
    tokens: int = 0
    updates: int = 0
    parts: dict[str, float] = field(default_factory=dict)  # of the loss, by name

    def add(self, taken: TurnStep, tokens: int) -> None:
        """Add one update."""
        self.loss += taken.loss * tokens
        self.norm += taken.norm
        self.rate = taken.rate
        self.tokens += tokens
        self.updates += 1
        for name, part in taken.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + part * tokens

    def values(self) -> dict[str, float]:
        """Learning rate, loss per token, mean norm of the gradient, and the loss's parts per token.

        A part that the objective itself calls its loss is the loss, so runs with and without penalties compare.
        """
        tokens = max(1, self.tokens)
        return {
            "learning_rate": self.rate,
            "loss": self.loss / tokens if self.updates else math.nan,
            "norm": self.norm / self.updates if self.updates else math.nan,
            **{name: part / tokens for name, part in self.parts.items()},
        }


@dataclass
class LogWindow:
    """The updates since the last line of the log, in sums. Saved in checkpoints: a resumed run writes the same log."""

    turns: dict[str, TurnWindow] = field(default_factory=dict)
    tokens: int = 0
    spent: ClockTime = field(default_factory=ClockTime)  # in updates, without validations

    def clear(self) -> None:
        """Begin again, after a line of the log."""
        self.turns, self.tokens, self.spent = {}, 0, ClockTime()

    def add(self, done: Updated, spent: ClockTime) -> None:
        """Add one update."""
        self.tokens += done.tokens if done.read is None else done.read
        self.spent += spent
        for name, taken in done.turns.items():
            self.turns.setdefault(name, TurnWindow()).add(taken, done.tokens)

    def values(self) -> dict[str, float]:
        """The model's turn by plain names, others with theirs before it ("critic.loss"); and tokens per second.

        Processor time does not change with other work on the machine.
        """
        per_second, per_core_second = self.spent.rates(self.tokens)
        values = self.turns.get(MAIN, TurnWindow()).values()
        values |= {"tokens_per_second": per_second, "tokens_per_core_second": per_core_second}
        for turn, window in self.turns.items():
            if turn != MAIN:
                values |= {f"{turn}.{name}": value for name, value in window.values().items()}
        return values

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return asdict(self)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.turns = {name: TurnWindow(**turn) for name, turn in state["turns"].items()}
        self.tokens, self.spent = state["tokens"], ClockTime(**state["spent"])
