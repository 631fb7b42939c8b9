"""Each line of a document with the one after it: what to say next."""

from collections.abc import Iterator

from regard.data.examples import Example
from regard.data.readers.documents import DocumentPart, DocumentsReader, Every, Index
from regard.data.readers.reader import FileName, Reader, check_columns

_TEXT = "text"  # the one column of what is paired


class ConsecutiveReader(Reader):
    """Pairs for a model that goes on from the line before: of a document of n lines n - 1.

    `file`, one text; `index`, `part` and `every` as of `documents`. No pair reaches from one document into the next.
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
