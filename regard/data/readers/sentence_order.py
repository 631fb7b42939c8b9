"""Texts, and the same sentences in another order: training data of coherence models."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from regard.data.examples import Example
from regard.data.readers.document_sentences import WindowReader
from regard.text.windows import SENTENCE_TAB

_NAME, _SENTENCE = "document", "sentence"  # columns of the file
ORIGINAL, SHUFFLED = "original", "shuffled"


class SentenceOrderReader(WindowReader):
    """Two examples per window of a document: its sentences in order (original), and in random order (shuffled).

    One sentence per line, tab-separated: the name of its document, and the sentence; `fields` gives the field of each.
    Lines of one document are consecutive. A window of one sentence, or of equal ones, has no other order and is left
    out. The random order depends on the sentences alone. Documents are not split where a part is held out.
    """

    answers = ("label",)
    makes, task = (2, "a text and a label"), "classification"

    def table(self, columns: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, int]]:
        return (_NAME, _SENTENCE), {_NAME: 1, _SENTENCE: 2}

    def key(self) -> str:
        return f"order of {self._window} sentences of {self._lines.key()}"

    def shaped(self, window: Sequence[Example]) -> Iterator[Example]:
        text, label = self.columns
        sentences = [one.texts[_SENTENCE] for one in window]
        if len({*sentences}) > 1:
            for order, name in ((sentences, ORIGINAL), (reordered(sentences), SHUFFLED)):
                yield Example(window[0].line, {text: " ".join(order), label: name})


def reordered(sentences: Sequence[str]) -> list[str]:
    """Return sentences, not all of them equal, in another order, which depends on them alone."""
    digest = hashlib.blake2b(SENTENCE_TAB.join(sentences).encode(), digest_size=8).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    while (found := [sentences[place] for place in rng.permutation(len(sentences))]) == [*sentences]:
        pass
    return found
