"""Sentences of documents, each with those around it."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.reader import FileName, GroupedReader
from regard.data.readers.tables import FieldNumbers
from regard.data.readers.tsv import TsvReader
from regard.errors import PartError
from regard.text.windows import SENTENCE_TAB

WindowSize = Annotated[Size, Doc("Sentences of a document that are read together; 1: each by itself.")]


class WindowReader(GroupedReader):
    """Shapes the lines of each document, which stand together, window by window; the last one is shorter."""

    def __init__(self, columns: tuple[str, ...], lines: TsvReader, document: str, window: int) -> None:
        """`document` is the column of `lines` that names it."""
        self.columns, self.files = tuple(columns), lines.files
        self._lines, self._document, self._window = lines, document, window

    def grouped(self) -> Iterator[tuple[str, Example]]:
        for name, lines in groupby(self._lines, lambda example: example.texts[self._document]):
            sentences = [*lines]
            for start in range(0, len(sentences), self._window):
                yield from ((name, one) for one in self.shaped(sentences[start : start + self._window]))

    @abstractmethod
    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        """Yield the examples of the sentences of a window."""


class DocumentSentencesReader(WindowReader):
    """A sentence a line, with tabs: the name of its document, the sentence, its translation.

    Lines of one document stand together. It is cut into windows of `window` sentences, the last one shorter, and every
    example has its window. Three columns: the sentence, its window, and the translation; `fields` tells where the
    first and the last one stand, and under the second one's name that of the document. Documents stay together where a
    part is held out.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        header: Annotated[bool, Doc("Leave out the first line.")] = False,
        window: WindowSize = 4,
    ) -> None:
        if len(columns) != 3:
            problem = f"makes a sentence, its window and a translation, and the task reads {', '.join(columns)}"
            raise PartError(problem, "use it for the task deliberation")
        sentence, document, translation = columns
        in_order = fields or {document: 1, sentence: 2, translation: 3}
        lines = TsvReader(columns, file=file, fields=in_order, header=header)
        super().__init__(columns, lines, document, window)

    def key(self) -> str:
        return f"windows of {self._window} sentences of {self._lines.key()}"

    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        around = SENTENCE_TAB.join(one.texts[self.columns[0]] for one in window)
        return (one._replace(texts={**one.texts, self._document: around}) for one in window)
