"""One folder per label, one file per text: the usual layout of data sets of reviews and mails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import Reader, check_columns
from regard.data.readers.tables import listed_labels
from regard.errors import DataError


class FoldersReader(Reader):
    """Each file of `folder`/LABEL is a text with that label, its lines joined by spaces; hidden files are left out.

    An example's line is the number of its file, in the order of the labels' and the files' names.
    """

    answers = ("label",)

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        folder: Annotated[str, Doc("Folder with one subfolder per label.")],
    ) -> None:
        check_columns(columns, 2, "holds a text and its label", "a table: .tsv, .csv or .jsonl", setting="folder")
        self.columns = tuple(columns)
        self._folder = Path(folder).expanduser()
        self.files = tuple(_texts(self._folder))

    @property
    def names(self) -> list[str]:
        """The folder with its labels, not each of its files."""
        labels = dict.fromkeys(path.parent.name for path in self.files)
        return [f"{self._folder.name} ({self.columns[-1]} of {listed_labels([*labels])})"]

    def key(self) -> str:
        return f"folders {[f'{path.parent.name}/{path.name}' for path in self.files]}"

    def __iter__(self) -> Iterator[Example]:
        text, label = self.columns
        for number, path in enumerate(self.files, start=1):
            lines = read_lines(path) if path.stat().st_size else ()  # an empty file is an empty example
            yield Example(number, {text: " ".join(lines), label: path.parent.name})


def _texts(folder: Path) -> list[Path]:
    """The files of a folder's folders. Raises DataError where there are none."""
    try:
        labels = [one for one in sorted(folder.iterdir()) if one.is_dir() and not one.name.startswith(".")]
        files = [
            one for label in labels for one in sorted(label.iterdir()) if one.is_file() and not one.name.startswith(".")
        ]
    except OSError as error:
        raise DataError(folder, f"cannot be read: {error.strerror or error}") from error
    if not files:
        hint = "a folder for each label, with a file for each text: reviews/good/1.txt"
        raise DataError(folder, "has no folders with files, so no labels and texts", hint=hint)
    return files
