"""Sentences of documents, each with those around it."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.data.examples import Example
from regard.data.readers.fields import FieldNumbers, FileName
from regard.data.readers.reader import Reader
from regard.data.readers.tsv import TsvReader
from regard.errors import PartError
from regard.text.windows import windows

WindowSize = Annotated[Size, Doc("Sentences of a document that are read together; 1: each by itself.")]


class DocumentSentencesReader(Reader):
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
        self._lines = TsvReader(columns, file=file, fields=in_order, header=header)
        self.columns, self.files, self._window = tuple(columns), self._lines.files, window

    def key(self) -> str:
        return f"windows of {self._window} sentences of {self._lines.key()}"

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.grouped())

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """The examples, each behind the name of its document."""
        sentence, document, _ = self.columns
        for name, lines in groupby(self._lines, lambda example: example.texts[document]):
            some = [*lines]
            around = windows([one.texts[sentence] for one in some], self._window)
            for one, window in zip(some, around, strict=True):
                yield name, one._replace(texts={**one.texts, document: window})
