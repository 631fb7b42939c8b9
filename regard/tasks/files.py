"""Files of a task's examples: where their columns stand, and what is held out of a training part for want of others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data import Fold, HoldOut, Reader, Stretch
from regard.data.readers.tables import Fields, TableLayout
from regard.errors import ConfigError

Split = tuple[Reader, Reader, Reader]  # what is learnt from, the dev part, the test part


class ExampleFiles:
    """Files of examples that stand alone: they are held out from everywhere."""

    def __init__(self, *, default: bool = False) -> None:
        self.default = default  # where no task is named, files that hold this form of answers are of this one

    def layout(self, columns: Sequence[str], path: Path, kind: str, like: Fields | None = None) -> TableLayout | None:
        """Return where the columns stand in a table of a `kind` of reader that tells what this task answers.

        None: they stand in their order. `like` is where they stand in the training part. Raises DataError for a table
        that does not tell.
        """
        return None

    def task(self, path: Path, kind: str) -> str | None:
        """Return the row of TASKS whose examples a table of a `kind` of reader holds, where it is another one."""
        return None

    def label_field(self, path: Path, kind: str) -> Any:
        """Return the field of a table that looks like an answer beside texts; None for none."""
        return None

    def parts_of_text(self, columns: Sequence[str], file: str) -> Mapping[str, Mapping[str, Any]] | None:
        """Return the parts of `data` that read a plain text; None where examples are more than its lines."""
        first, *others = columns
        return None if others else {"train": {first: file}}

    def apart(self, reader: Reader, dev: float, test: float) -> Split:
        """Return what of a reader is learnt from, and dev and test parts of about these shares."""
        rest = HoldOut(reader, dev + test, held_out=False)
        return rest, HoldOut(reader, dev, held_out=True), HoldOut(reader, test, start=dev, held_out=True)

    def folded(self, reader: Reader, folds: int, fold: int, seed: int) -> tuple[Reader, Reader]:
        """Return all folds of a reader but one, and that one: see `Fold`. Raises ConfigError where it has no folds."""
        rest, held = (Fold(reader, folds, fold, seed, held_out=held_out) for held_out in (False, True))
        return rest, held


class SuccessiveLines(ExampleFiles):
    """Lines that follow on each other: the last ones are held out, those of the test part at the very end."""

    def apart(self, reader: Reader, dev: float, test: float) -> Split:
        borders = 1 - dev - test, 1 - test
        return Stretch(reader, 0.0, borders[0]), Stretch(reader, *borders), Stretch(reader, borders[1], 1.0)


class WholeText(SuccessiveLines):
    """Lines of one text, which cannot be cut into folds."""

    def folded(self, reader: Reader, folds: int, fold: int, seed: int) -> tuple[Reader, Reader]:
        problem = "cuts examples that stand alone, and the lines of a text follow on each other"
        raise ConfigError("data.folds", problem, "data.test_fraction=0.1")
