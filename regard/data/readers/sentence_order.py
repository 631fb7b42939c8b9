"""Texts and the same sentences in another order: what a model of coherence learns from."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.document_sentences import WindowSize
from regard.data.readers.fields import FieldNumbers, FileName
from regard.data.readers.reader import Reader
from regard.data.readers.tsv import TsvReader
from regard.errors import PartError
from regard.text.windows import TAB, windows

NAME, SENTENCE = "document", "sentence"  # columns of the file
ORIGINAL, SHUFFLED = "original", "shuffled"


class SentenceOrderReader(Reader):
    """Two examples of each window of a document: its sentences as they are (original), and in a drawn order (shuffled).

    A sentence a line, with tabs: the name of its document, and the sentence; `fields` tells where both stand. Lines of
    one document stand together. A window of one sentence, or of equal ones, has no other order and is left out. The
    order is drawn by the sentences alone. Documents stay together where a part is held out.
    """

    tells = "label"

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
        self._lines = TsvReader((NAME, SENTENCE), file=file, fields=fields, header=header)
        self.columns, self.files, self._window = tuple(columns), self._lines.files, window

    def key(self) -> str:
        return f"order of {self._window} sentences of {self._lines.key()}"

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.grouped())

    def grouped(self) -> Iterator[tuple[str, Example]]:
        """The examples, each behind the name of its document; their lines are those of the first sentence."""
        text, label = self.columns
        for name, lines in groupby(self._lines, lambda example: example.texts[NAME]):
            some = [*lines]
            joined = windows([one.texts[SENTENCE] for one in some], self._window)
            for place in range(0, len(some), self._window):
                sentences = joined[place].split(TAB)
                if len({*sentences}) > 1:
                    for order, told in ((sentences, ORIGINAL), (reordered(sentences), SHUFFLED)):
                        yield name, Example(some[place].line, {text: " ".join(order), label: told})


def reordered(sentences: Sequence[str]) -> list[str]:
    """Return sentences, not all of them equal, in another order, drawn by themselves alone."""
    digest = hashlib.blake2b(TAB.join(sentences).encode(), digest_size=8).digest()
    draws = np.random.default_rng(int.from_bytes(digest, "little"))
    while (found := [sentences[place] for place in draws.permutation(len(sentences))]) == [*sentences]:
        pass
    return found
