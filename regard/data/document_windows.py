"""Words with their contexts, negative samples and document: training examples of doc2vec."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.ragged import Ragged
from regard.data.word_windows import WordWindows
from regard.records import Batch

DOCUMENT_NUMBERS = "document"  # (word,): the number of the document that a word stands in, -1 for one that is not known
UNKNOWN_DOCUMENT = -1
WORDS_AT_ONCE = 2**16  # words of all passes over a text that are sampled at once


class DocumentWindows(WordWindows):
    """Windows of words, with the document of each word; a word without neighbours stays: it has its document."""

    company = False

    def __init__(self, lines: Ragged, documents: Longs, *given: Any, **settings: Any) -> None:
        """`documents` (line,) are the numbers of the lines' documents."""
        super().__init__(lines, *given, **settings)
        self.documents = documents

    def made(self, epoch: int, lines: Longs, ids: NDArray[Any], lengths: Longs) -> Batch:
        batch = super().made(epoch, lines, ids, lengths)
        documents = torch.from_numpy(self.documents[batch.lines.numpy()])
        return batch._replace(columns={**batch.columns, DOCUMENT_NUMBERS: documents})


def parted(lines: Ragged, documents: Longs, most: int) -> tuple[Ragged, Longs]:
    """Lines and their documents (line,) → parts of `most` words at most, and the documents of the parts."""
    counts = np.maximum(1, -(-np.diff(lines.offsets) // most))
    of = np.repeat(np.arange(len(counts)), counts)
    numbers = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = lines.offsets[of] + numbers * most
    return Ragged(lines.data, np.append(starts, lines.offsets[-1])), documents[of]


class TextWindows:
    """The words of one text, sampled again in each of `passes`: its vector is inferred from them.

    Samples depend on the place in the text and the pass alone, so a text's vector depends on nothing but the text.
    """

    def __init__(self, passes: int, *given: Any, **settings: Any) -> None:
        """Take `passes`, then the arguments of `DocumentWindows`."""
        self._windows = DocumentWindows(
            Ragged.of([], np.dtype(np.int64)), np.full(passes, UNKNOWN_DOCUMENT), *given, **settings
        )
        self.passes = passes

    def of(self, ids: list[int]) -> Iterator[Batch]:
        """Yield a batch for each pass."""
        at_once = max(1, WORDS_AT_ONCE // max(1, len(ids)))
        for first in range(0, self.passes, at_once):
            yield from self._sampled(ids, np.arange(first, min(first + at_once, self.passes)))

    def _sampled(self, ids: list[int], passes: Longs) -> Iterator[Batch]:
        """The batches of some passes."""
        text = np.tile(np.array(ids, np.int64), len(passes))
        made = self._windows.made(0, passes, text, np.full(len(passes), len(ids)))
        sizes = np.bincount(made.lines.numpy() - passes[0], minlength=len(passes)).tolist()
        rows = zip(*(cast(torch.Tensor, column).split(sizes) for column in made.columns.values()), strict=True)
        return (made._replace(columns=dict(zip(made.columns, one, strict=True))) for one in rows)
