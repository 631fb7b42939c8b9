"""The updates since the last line of the log, in sums."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.objectives.objective import MAIN
from regard.training.clock import Spent
from regard.training.updater import Taken, Updated


@dataclass
class TurnWindow:
    """Sums over the updates that took a turn; `loss` and `parts` times tokens."""

    loss: float = 0.0
    norm: float = 0.0
    rate: float = 0.0  # the last one
    tokens: int = 0
    updates: int = 0
    parts: dict[str, float] = field(default_factory=dict)  # of the loss, by name

    def add(self, taken: Taken, tokens: int) -> None:
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
class Window:
    """Saved in checkpoints, so that a resumed run writes the same log."""

    turns: dict[str, TurnWindow] = field(default_factory=dict)
    tokens: int = 0
    spent: Spent = field(default_factory=Spent)  # in updates, without validations

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Window":
        """The window that was saved as `asdict`."""
        turns = {name: TurnWindow(**turn) for name, turn in state["turns"].items()}
        return cls(turns, state["tokens"], Spent(**state["spent"]))

    def add(self, done: Updated, spent: Spent) -> None:
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
