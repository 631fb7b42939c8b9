"""Files of a task's examples: the fields of their columns, and held-out sets where no others are given."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data import Reader
from regard.data.readers import HoldOut
from regard.data.readers.part import Fold, Stretch
from regard.data.readers.tables import Fields, TableLayout
from regard.errors import ConfigError

Split = tuple[Reader, Reader, Reader]  # training, dev and test set


class ExampleFiles:
    """Files of independent examples: held-out ones are sampled from everywhere."""

    def __init__(self, *, default: bool = False) -> None:
        self.default = default  # without a named task, files with this form of answers belong to this task

    def layout(self, columns: Sequence[str], path: Path, kind: str, like: Fields | None = None) -> TableLayout | None:
        """Return the fields of the columns in a table of a `kind` of reader, where its rows determine them.

        None: they are in order. `like` are the fields in the training set. Raises DataError for a table whose fields
        cannot be determined.
        """
        return None

    def task(self, path: Path, kind: str) -> str | None:
        """Return the row of TASKS that fits the examples of a table of a `kind` of reader, if another one does."""
        return None

    def label_field(self, path: Path, kind: str) -> Any:
        """Return the field of a table that looks like an answer beside texts; None for none."""
        return None

    def parts_of_text(self, columns: Sequence[str], file: str) -> Mapping[str, Mapping[str, Any]] | None:
        """Return the settings of `data` that read a plain text; None where an example is not a line."""
        first, *others = columns
        return None if others else {"train": {first: file}}

    def apart(self, reader: Reader, dev: float, test: float) -> Split:
        """Split a reader into training, dev and test set; dev and test are about these fractions."""
        rest = HoldOut(reader, dev + test, held_out=False)
        return rest, HoldOut(reader, dev, held_out=True), HoldOut(reader, test, start=dev, held_out=True)

    def folded(
        self, reader: Reader, folds: int, fold: int, seed: int, *, stratified: bool = False
    ) -> tuple[Reader, Reader]:
        """Return all folds of a reader but one, and that one: see `Fold`. Raises ConfigError where it has no folds."""
        rest, held = (
            Fold(reader, folds, fold, seed, held_out=held_out, stratified=stratified) for held_out in (False, True)
        )
        return rest, held


class SuccessiveLines(ExampleFiles):
    """Consecutive lines: the last ones are held out, the test set at the very end."""

    def apart(self, reader: Reader, dev: float, test: float) -> Split:
        borders = 1 - dev - test, 1 - test
        return Stretch(reader, 0.0, borders[0]), Stretch(reader, *borders), Stretch(reader, borders[1], 1.0)


class WholeText(SuccessiveLines):
    """Lines of one text, which cannot be cut into folds."""

    def folded(
        self, reader: Reader, folds: int, fold: int, seed: int, *, stratified: bool = False
    ) -> tuple[Reader, Reader]:
        problem = "needs independent examples, but the lines of a text are consecutive"
        raise ConfigError("data.folds", problem, "data.test_fraction=0.1")
