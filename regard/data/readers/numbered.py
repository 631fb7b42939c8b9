"""Lines of text, each with its number: each line is a document, for document vectors."""

from collections.abc import Iterator, Sequence

from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, FileReader, check_columns


class NumberedReader(FileReader):
    """A line, and its number from 1 in a second column: the name of a document."""

    def __init__(self, columns: Sequence[str], *, file: FileName) -> None:
        check_columns(columns, 2, "reads a line and its number", "another reader", setting="name")
        super().__init__(columns, file)

    def key(self) -> str:
        return f"numbered {self.columns}"

    def __iter__(self) -> Iterator[Example]:
        text, name = self.columns
        for number, line in enumerate(read_lines(self.path), start=1):
            yield Example(number, {text: line, name: str(number) if line.strip() else ""})
