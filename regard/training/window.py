"""What is told of the updates since the last line of the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.training.updating import Updated


@dataclass
class Window:
    """Sums; they are saved, so that a resumed run writes the same log."""

    loss: float = 0.0
    norm: float = 0.0
    tokens: int = 0
    updates: int = 0
    seconds: float = 0.0  # of updates
    core_seconds: float = 0.0  # the same of processor time, all threads
    parts: dict[str, float] = field(default_factory=dict)  # of the loss, by name

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Window":
        """As it was saved; an older version counted no processor time, of which the wall's is the best guess."""
        return cls(**{"core_seconds": state["seconds"], **state})

    def add(self, done: Updated, seconds: float, core_seconds: float) -> None:
        """One update more."""
        self.loss += done.loss * done.tokens
        self.norm += done.norm
        self.tokens += done.tokens
        self.updates += 1
        self.seconds += seconds
        self.core_seconds += core_seconds
        for name, part in done.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + part * done.tokens

    def values(self) -> dict[str, float]:
        """Loss per token, mean norm of the gradient, target tokens per second on the wall and of processor time (which
        other work on the machine does not change), and the loss's parts per token.

        What an objective itself calls its loss is the loss: so runs with and without penalties can be compared.
        """
        return {
            "loss": self.loss / max(1, self.tokens),
            "norm": self.norm / max(1, self.updates),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
            "tokens_per_core_second": self.tokens / max(self.core_seconds, 1e-9),
            **{name: part / max(1, self.tokens) for name, part in self.parts.items()},
        }
