"""A penalty for source words of which no translation is written, by a look-up in a lexicon."""

from typing import Annotated, NamedTuple

import torch
from annotated_types import Gt, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.lexicon import LexiconReader
from regard.decoding.features.tables import LexiconFile
from regard.records import Batch, Step


class _Untranslated(NamedTuple):
    """Which source pieces wait for a translation."""

    ids: Tensor  # (rows, source, count): translations, -1 where there is none
    waits: Tensor  # (rows, source)

    def select(self, rows: Tensor) -> "_Untranslated":
        """Rows in that order."""
        return _Untranslated(self.ids[rows], self.waits[rows])


class MissingWordsFeature(LexiconReader):
    """-`weight` · number of source pieces of whose translations in a lexicon none is written, added at the end.

    A translation counts if its probability is `min_probability` or more; a piece without any is not missed.
    """

    name = "missing_words"
    weight: float

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Penalty per untranslated source piece, in nats.")] = 0.02,
        file: LexiconFile = None,
        min_probability: Annotated[
            float, Gt(0), Le(1), Doc("Minimum probability that counts as a translation.")
        ] = 0.03,
    ) -> None:
        self.weight, self.file, self.min_probability = weight, file, min_probability

    def start(self, batch: Batch) -> _Untranslated:
        """All wait that have a translation."""
        ids, values, words = self.likely(batch.sequences("source"))
        known = (values >= self.min_probability) & words.unsqueeze(-1)
        return _Untranslated(ids.masked_fill(~known, -1), known.any(dim=-1))

    def step(self, step: Step, ids: Tensor, state: _Untranslated) -> tuple[Tensor, _Untranslated]:
        """Mark the source pieces that the last piece translates; scores of words stay."""
        written = (state.ids == ids.unsqueeze(-1)).any(dim=-1)
        return step.log_probs.new_zeros(1, 1), state._replace(waits=state.waits & ~written)

    def finish(self, state: _Untranslated) -> Tensor:
        """(rows,) for what still waits."""
        return -self.weight * state.waits.sum(dim=-1).to(torch.float32)
