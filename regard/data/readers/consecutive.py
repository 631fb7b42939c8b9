"""Each line of a document paired with the next one."""

from collections.abc import Iterator

from regard.data.examples import Example
from regard.data.readers.documents import DocumentPart, DocumentsReader, Every, Index
from regard.data.readers.reader import FileName, Reader, check_columns

_TEXT = "text"  # the one column of what is paired


class ConsecutiveReader(Reader):
    """Pairs for a model that continues from the line before: n - 1 of a document of n lines.

    `file` is one text; `index`, `part` and `every` are those of `documents`. Pairs do not cross document borders.
    An example has the number of its second line.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        index: Index,
        part: DocumentPart = "train",
        every: Every = 10,
    ) -> None:
        check_columns(columns, 2, "pairs each line with the next", "the reader documents reads line by line")
        self._documents = DocumentsReader((_TEXT,), files={_TEXT: file}, index=index, part=part, every=every)
        self.columns, self.files = columns, self._documents.files

    def key(self) -> str:
        return f"consecutive {self.columns} of {self._documents.key()}"

    def __iter__(self) -> Iterator[Example]:
        firsts = {lines.start for lines in self._documents.ranges()}
        before = ""
        for line, texts in self._documents:
            if line not in firsts:
                yield Example(line, dict(zip(self.columns, (before, texts[_TEXT]), strict=True)))
            before = texts[_TEXT]
