"""What of a data set could not be used, and why."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SHOWN = 5  # line numbers named for each reason
REASONS = {
    "empty": "empty",
    "one_sided": "empty on one side only",
    "too_long": "too long",
}


class Report(NamedTuple):
    """How many examples a corpus keeps, and which lines it skips."""

    kept: int
    skipped: Mapping[str, int]  # by reason, for those that occur
    first: Mapping[str, tuple[int, ...]]  # line numbers in the file, from 1
    file: Path  # all skipped lines: number, reason and details between tabs

    @property
    def too_long(self) -> int:
        """How many are longer than the limit."""
        return self.skipped.get("too_long", 0)

    def __str__(self) -> str:
        if not self.skipped:
            return f"{self.kept:,} examples, none skipped"
        parts = [f"{count:,} {REASONS[reason]} ({self._lines(reason)})" for reason, count in self.skipped.items()]
        return f"{self.kept:,} examples; skipped: {', '.join(parts)}"

    def _lines(self, reason: str) -> str:
        numbers = self.first[reason]
        more = " …" if self.skipped[reason] > len(numbers) else ""
        return ("line " if self.skipped[reason] == 1 else "lines ") + ", ".join(map(str, numbers)) + more
