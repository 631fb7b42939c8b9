"""Texts and the same sentences in another order: what a model of coherence learns from."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.document_sentences import WindowReader, WindowSize
from regard.data.readers.reader import FileName
from regard.data.readers.tables import FieldNumbers
from regard.data.readers.tsv import TsvReader
from regard.errors import PartError
from regard.text.windows import SENTENCE_TAB

_NAME, _SENTENCE = "document", "sentence"  # columns of the file
ORIGINAL, SHUFFLED = "original", "shuffled"


class SentenceOrderReader(WindowReader):
    """Two examples of each window of a document: its sentences as they are (original), and in a drawn order (shuffled).

    A sentence a line, with tabs: the name of its document, and the sentence; `fields` tells where both stand. Lines of
    one document stand together. A window of one sentence, or of equal ones, has no other order and is left out. The
    order is drawn by the sentences alone. Documents stay together where a part is held out.
    """

    answers = "label"

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        header: Annotated[bool, Doc("Leave out the first line.")] = False,
        window: WindowSize = 4,
    ) -> None:
        if len(columns) != 2:
            problem = f"makes a text and a label, and the task reads {', '.join(columns)}"
            raise PartError(problem, "use it for the task classification")
        lines = TsvReader((_NAME, _SENTENCE), file=file, fields=fields, header=header)
        super().__init__(columns, lines, _NAME, window)

    def key(self) -> str:
        return f"order of {self._window} sentences of {self._lines.key()}"

    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        text, label = self.columns
        sentences = [one.texts[_SENTENCE] for one in window]
        if len({*sentences}) > 1:
            for order, told in ((sentences, ORIGINAL), (reordered(sentences), SHUFFLED)):
                yield Example(window[0].line, {text: " ".join(order), label: told})


def reordered(sentences: Sequence[str]) -> list[str]:
    """Return sentences, not all of them equal, in another order, drawn by themselves alone."""
    digest = hashlib.blake2b(SENTENCE_TAB.join(sentences).encode(), digest_size=8).digest()
    draws = np.random.default_rng(int.from_bytes(digest, "little"))
    while (found := [sentences[place] for place in draws.permutation(len(sentences))]) == [*sentences]:
        pass
    return found
