"""Checks of each example that another reader streams."""

from collections.abc import Callable, Iterator

from regard.data.examples import ColumnTexts, Example
from regard.data.readers.reader import GroupedReader, Reader
from regard.errors import DataError


class CheckedReader(GroupedReader):
    """The examples of a reader, each passed to `check`, whose DataErrors get the file and the line.

    For a usable example `learnt` returns the example to learn from, or None to leave it out; its line is kept in
    `left_out`. Where all are left out, the first one is checked unchanged. Unusable examples pass unchecked.
    """

    def __init__(
        self,
        reader: Reader,
        usable: Callable[[ColumnTexts], bool],
        check: Callable[[ColumnTexts], None],
        learnt: Callable[[ColumnTexts], ColumnTexts | None] = lambda texts: texts,
    ) -> None:
        self.columns, self.files, self.derived = reader.columns, reader.files, reader.derived
        self._reader, self._usable, self._check, self._learnt = reader, usable, check, learnt
        self.left_out: list[int] = []  # lines, of the last reading

    def key(self) -> str:
        return self._reader.key()

    def grouped(self) -> Iterator[tuple[str, Example]]:
        self.left_out, first, kept = [], None, False
        for key, example in self._reader.grouped():
            texts: ColumnTexts | None = example.texts
            if self._usable(example.texts):
                texts = self._learnt(example.texts)
                if texts is not None:
                    self._check_example(Example(example.line, texts))
            if texts is None:
                self.left_out.append(example.line)
                first = first or example
            else:
                kept = True
                yield key, Example(example.line, texts)
        if first is not None and not kept:
            self._check_example(first)

    def _check_example(self, example: Example) -> None:
        try:
            self._check(example.texts)
        except DataError as error:
            problem = f"column {error.path}: {error.problem}"
            raise DataError(self.place, problem, line=example.line, hint=error.hint) from error
