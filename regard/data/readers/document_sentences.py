"""Sentences of documents, each with its context."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, ClassVar

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.reader import FileName, GroupedReader, check_columns
from regard.data.readers.tables import FieldNumbers, HasHeader
from regard.data.readers.tsv import TsvReader
from regard.text.windows import SENTENCE_TAB

WindowSize = Annotated[Size, Doc("Context window, in sentences of a document; 1: single sentences.")]


class WindowReader(GroupedReader):
    """Shapes the lines of each document, which are consecutive, window by window; the last window is shorter."""

    makes: ClassVar[tuple[int, str]]  # how many columns, and which in words
    task: ClassVar[str]  # that reads them

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        header: HasHeader = False,
        window: WindowSize = 4,
    ) -> None:
        count, what = self.makes
        check_columns(columns, count, f"makes {what}", f"use it for the task {self.task}")
        names, in_order = self.table(columns)
        self._lines = TsvReader(names, file=file, fields=fields or in_order, header=header)
        self.columns, self.files = tuple(columns), self._lines.files
        self._document, self._window = next(iter(in_order)), window

    def grouped(self) -> Iterator[tuple[str, Example]]:
        for name, lines in groupby(self._lines, lambda example: example.texts[self._document]):
            sentences = [*lines]
            for start in range(0, len(sentences), self._window):
                yield from ((name, one) for one in self.shaped(sentences[start : start + self._window]))

    @abstractmethod
    def table(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, int]]:
        """Return the columns of the file and the usual field of each, the document's name first."""

    @abstractmethod
    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        """Yield the examples of the sentences of a window."""


class DocumentSentencesReader(WindowReader):
    """One sentence per line, tab-separated: the name of its document, the sentence, its translation.

    Lines of one document are consecutive. A document is cut into windows of `window` sentences, the last one shorter,
    and each example has its window. Three columns: the sentence, its window, and the translation. `fields` gives the
    fields of the first and the last column, and under the second one's name that of the document. Documents are not
    split where a part is held out.
    """

    makes, task = (3, "a sentence, its window and a translation"), "deliberation"

    def table(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, int]]:
        sentence, document, translation = columns
        return columns, {document: 1, sentence: 2, translation: 3}

    def key(self) -> str:
        return f"windows of {self._window} sentences of {self._lines.key()}"

    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        around = SENTENCE_TAB.join(one.texts[self.columns[0]] for one in window)
        return (one._replace(texts={**one.texts, self._document: around}) for one in window)
