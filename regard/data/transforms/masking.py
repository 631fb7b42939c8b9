"""Masking: which pieces of a text a model must fill in, and what stands in their place."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.transforms.transform import Draws, Transform
from regard.pieces import PAD, SPECIALS
from regard.records import Batch, Sequences

MASKED_PIECES = "answers"  # column: ids (batch, n) of the pieces to be filled in, PAD at all other places
STAGE = 1_000  # of draws, apart from those of the transforms that settings name

Bools = NDArray[np.bool_]


class WordBorders(NamedTuple):
    """Beginnings and ends of words, (vocab,) each."""

    begins: Bools  # whether a piece begins a word
    ends: Bools  # whether a word ends with a piece, whatever stands behind it


class Masking(Transform):
    """Chooses pieces by chance, and one at least; most become <mask>, some a random piece, some stay as they are.

    https://arxiv.org/abs/1810.04805, section 3.1. Specials are never chosen and never put in; bytes are pieces. With
    `words` whole words are chosen (`Whole Word Masking` of the paper's code).
    Epochs draw anew, as in https://arxiv.org/abs/1907.11692, section 4.1.
    """

    def __init__(
        self,
        column: str,
        mask: int,
        *,
        share: float,
        masked: float,
        random: float,
        words: WordBorders | None = None,
        answers: str = MASKED_PIECES,
    ) -> None:
        """`mask` is the last id; of what is chosen a share `masked` becomes it and a share `random` another piece.

        `answers` names the column of what is to be filled in.
        """
        self.column, self.answers, self.mask, self.share = column, answers, mask, share
        self.masked, self.random, self.words = masked, random, words

    def __call__(self, batch: Batch, draws: Draws) -> Batch:
        """The batch with masked texts and MASKED_PIECES; `count` is that of the answers, `read` that of the pieces."""
        text = batch.sequences(self.column)
        items, known = text.items.numpy(), text.mask.numpy()
        found, answers = items.copy(), np.full_like(items, PAD)
        for row, line in enumerate(batch.lines.tolist()):
            length = int(known[row].sum())
            ids, generator = items[row, :length], draws.of(line)
            chosen = self._chosen(ids, generator)
            answers[row, :length][chosen] = ids[chosen]
            found[row, :length] = np.where(chosen, self._instead(ids, generator), ids)
        columns: dict[str, Any] = {
            **batch.columns,
            self.column: Sequences(torch.from_numpy(found), text.mask),
            self.answers: torch.from_numpy(answers),
        }
        return batch._replace(columns=columns, count=int((answers != PAD).sum()), read=int(known.sum()))

    def _chosen(self, ids: Longs, draws: np.random.Generator) -> Bools:
        """(n,): each piece, or word, by itself; where chance takes none, the one that was next to be taken."""
        numbers, may = draws.random(len(ids)), (ids >= len(SPECIALS)) & (ids != self.mask)
        if self.words is not None and len(ids):
            starts = self.words.begins[ids] | ~may
            starts[1:] |= self.words.ends[ids[:-1]] | ~may[:-1]
            starts[0] = True
            numbers = numbers[np.maximum.accumulate(np.where(starts, np.arange(len(ids)), 0))]
        numbers = np.where(may, numbers, 2.0)
        return may & (numbers <= max(self.share, float(numbers.min(initial=2.0))))

    def _instead(self, ids: Longs, draws: np.random.Generator) -> Longs:
        """(n,): what stands in the place of each piece, were it chosen."""
        kinds, others = draws.random(len(ids)), draws.integers(len(SPECIALS), self.mask, len(ids))
        return np.where(kinds < self.masked, self.mask, np.where(kinds < self.masked + self.random, others, ids))
