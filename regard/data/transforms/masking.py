"""Masking: the pieces of a text that a model must predict, and their replacements."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.transforms.transform import LineSeeds, Transform
from regard.pieces import PAD, SPECIALS
from regard.records import Batch, Sequences

MASKED_PIECES = "answers"  # column: ids (batch, n) of the pieces to be filled in, PAD at all other places
STAGE = 1_000  # of random numbers, apart from those of the transforms that settings name

Bools = NDArray[np.bool_]


class WordBorders(NamedTuple):
    """Beginnings and ends of words, (vocab,) each."""

    begins: Bools  # whether a piece begins a word
    ends: Bools  # whether a word ends with a piece, whatever stands behind it


class Masking(Transform):
    """Chooses random pieces, at least one; most become <mask>, some a random piece, some stay unchanged.

    https://arxiv.org/abs/1810.04805, section 3.1. Specials are never chosen and never put in; bytes are pieces. With
    `words` whole words are chosen (`Whole Word Masking` of the paper's code).
    Each epoch samples another mask, as in https://arxiv.org/abs/1907.11692, section 4.1.
    """

    def __init__(
        self,
        column: str,
        mask: int,
        *,
        probability: float,
        masked: float,
        random: float,
        words: WordBorders | None = None,
        answers: str = MASKED_PIECES,
    ) -> None:
        """`mask` is the last id; of chosen pieces a fraction `masked` becomes it and `random` a random piece.

        `answers` names the column of the pieces to predict.
        """
        self.column, self.answers, self.mask, self.probability = column, answers, mask, probability
        self.masked, self.random, self.words = masked, random, words

    def __call__(self, batch: Batch, draws: LineSeeds) -> Batch:
        """Return the batch with masked texts and MASKED_PIECES; `count` counts the answers, `read` the pieces."""
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
        """Return a mask (n,): each piece, or word, independently; where none is sampled, the likeliest one."""
        numbers, may = draws.random(len(ids)), (ids >= len(SPECIALS)) & (ids != self.mask)
        if self.words is not None and len(ids):
            starts = self.words.begins[ids] | ~may
            starts[1:] |= self.words.ends[ids[:-1]] | ~may[:-1]
            starts[0] = True
            numbers = numbers[np.maximum.accumulate(np.where(starts, np.arange(len(ids)), 0))]
        numbers = np.where(may, numbers, 2.0)
        return may & (numbers <= max(self.probability, float(numbers.min(initial=2.0))))

    def _instead(self, ids: Longs, draws: np.random.Generator) -> Longs:
        """Return the replacement (n,) of each piece, should it be chosen."""
        kinds, others = draws.random(len(ids)), draws.integers(len(SPECIALS), self.mask, len(ids))
        return np.where(kinds < self.masked, self.mask, np.where(kinds < self.masked + self.random, others, ids))
