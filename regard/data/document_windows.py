"""Words with those around them, with drawn ones, and with the document that they stand in."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.ragged import Ragged
from regard.data.word_windows import Longs, WordWindows
from regard.records import Batch

DOCUMENT = "document"  # (word,): the number of the document that a word stands in, -1 for one that is not known
UNKNOWN = -1


class DocumentWindows(WordWindows):
    """As `WordWindows`, with the document of each word; a word by itself stays, as its document is there."""

    company = False

    def __init__(self, lines: Ragged, documents: Longs, *given: Any, **settings: Any) -> None:
        """`documents` (line,) are the numbers of the lines' documents."""
        super().__init__(lines, *given, **settings)
        self.documents = documents

    def made(self, epoch: int, lines: Longs, ids: NDArray[Any], lengths: Longs) -> Batch:
        """Return the batch with its documents."""
        batch = super().made(epoch, lines, ids, lengths)
        documents = torch.from_numpy(self.documents[batch.lines.numpy()])
        return batch._replace(columns={**batch.columns, DOCUMENT: documents})


class TextWindows:
    """The words of a text by itself, drawn anew in each of `passes`: what its vector is inferred from.

    Draws depend on the place in the text and the pass alone, so a text's vector does on nothing but the text.
    """

    def __init__(self, passes: int, *given: Any, **settings: Any) -> None:
        """What follows is what `DocumentWindows` is made with."""
        self._windows = DocumentWindows(Ragged.of([], np.dtype(np.int64)), np.full(1, UNKNOWN), *given, **settings)
        self.passes = passes

    def of(self, ids: list[int]) -> Iterator[Batch]:
        """Yield a batch for each pass."""
        text, length = np.array(ids, np.int64), np.array([len(ids)])
        return (self._windows.made(number, np.zeros(1, np.int64), text, length) for number in range(self.passes))
