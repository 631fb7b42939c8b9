"""Report of the examples of a data set that are skipped, with the reasons."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from regard.data.readers.lines import C1_HINT

LISTED = 5  # line numbers named for each reason
CONTROLS = "controls"
REASONS = {
    "empty": "empty",
    "one_sided": "empty on one side only",
    "too_long": "too long",
}


class CorpusReport(NamedTuple):
    """Number of examples that a corpus keeps, and lines that it skips."""

    kept: int
    skipped: Mapping[str, int]  # by reason, for those that occur
    first: Mapping[str, tuple[int, ...]]  # line numbers in the file, from 1
    file: Path  # all skipped lines: number, reason and details between tabs
    controls: int = 0  # kept examples with C1 control characters, which no text needs

    @property
    def too_long(self) -> int:
        """Number of examples that are longer than the limit."""
        return self.skipped.get("too_long", 0)

    def __str__(self) -> str:
        parts = [
            f"{count:,} {REASONS[reason]} ({self._lines(reason, count)})" for reason, count in self.skipped.items()
        ]
        skipped = f"; skipped: {', '.join(parts)}" if parts else ", none skipped"
        if self.controls:
            hint = C1_HINT.format("FILE")
            skipped += f"; C1 control characters in {self.controls:,} ({self._lines(CONTROLS, self.controls)}): {hint}"
        return f"{self.kept:,} examples{skipped}"

    def _lines(self, reason: str, count: int) -> str:
        numbers = self.first[reason]
        more = " …" if count > len(numbers) else ""
        return ("line " if count == 1 else "lines ") + ", ".join(map(str, numbers)) + more
