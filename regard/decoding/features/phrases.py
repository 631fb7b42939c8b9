"""Log-probability of the last pieces as a translation of a source phrase, by a phrase table."""

import copy
import math
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
from annotated_types import Gt, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.feature import Feature, Surroundings
from regard.decoding.features.tables import Spelling, learnt_file, source_column, target_column
from regard.errors import DataError
from regard.records import BOS, EOS, Batch, Step
from regard.statistical.phrase_table import TRANSLATION_SCORES, PhraseTable

PHRASES_FILE = "phrases.txt.gz"  # in the folder of what was learnt
_DIRECT = TRANSLATION_SCORES.index("p(target|source)")

_Ids = tuple[int, ...]
Continuations = dict[_Ids, dict[int, float]]  # pieces written before → a piece that ends a phrase, and its score


class Phrases(NamedTuple):
    """Phrases that may be translated in each row, and the last pieces of the row."""

    found: tuple[Continuations, ...]
    written: tuple[_Ids, ...]

    def select(self, rows: Tensor) -> "Phrases":
        """Rows in that order."""
        places = rows.tolist()
        return Phrases(tuple(self.found[place] for place in places), tuple(self.written[place] for place in places))


class PhrasesFeature(Feature):
    """`weight` · log max p(target phrase | source phrase)^(1/pieces), over phrase pairs whose source side stands in
    the source and whose target side ends with the piece; `min_probability` where there is none.

    The root makes phrases of all lengths comparable; https://aclanthology.org/N03-1017 has the probabilities.
    """

    name = "phrases"
    weight: float
    reads_tables = True

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Interpolation weight of the phrase table.")] = 0.1,
        file: Annotated[Path | None, Doc("Phrase table in Moses format; null: the table of regard tune.")] = None,
        min_probability: Annotated[
            float, Gt(0), Le(1), Doc("Probability of a piece that ends no known phrase.")
        ] = 1e-3,
    ) -> None:
        self.weight, self.file, self.lowest = weight, file, math.log(min_probability)
        self._pairs: dict[_Ids, dict[_Ids, float]]  # source phrase → target phrase → score
        self._longest: tuple[int, int]

    def bind(self, run: Surroundings) -> "PhrasesFeature":
        """Read the table. Raises DataError for a file that is cut off, or of which nothing is known to the run."""
        other, path = copy.copy(self), learnt_file(self.file, run, PHRASES_FILE)
        table, pairs = PhraseTable.read(path), dict[_Ids, dict[_Ids, float]]()
        read, written = (Spelling(column, table.words) for column in (source_column(run), target_column(run)))
        for source, entry in table:
            ids, others = read.ids(source), written.ids(entry.target)
            if ids and others:
                known = pairs.setdefault(ids, {})
                known[others] = max(known.get(others, -math.inf), entry.scores[_DIRECT] / len(others))
        if not pairs:
            raise DataError(path, "none of its phrases is known to the run", hint="is it of other languages?")
        other._pairs = pairs
        other._longest = max(map(len, pairs)), max(len(target) for known in pairs.values() for target in known)
        return other

    def start(self, batch: Batch) -> Phrases:
        source = batch.sequences("source")
        rows = [ids[mask].tolist()[:-1] for ids, mask in zip(source.items, source.mask, strict=True)]
        return Phrases(tuple(map(self._continuations, rows)), tuple(() for _ in rows))

    def step(self, step: Step, ids: Tensor, state: Phrases) -> tuple[Tensor, Phrases]:
        """Look up what ends a phrase behind the last pieces; the end of a target has no score."""
        most = self._longest[1] - 1
        last = zip(state.written, ids[:, 0].tolist(), strict=True)
        written = tuple((*before, piece)[-most:] if most and piece != BOS else () for before, piece in last)
        added = torch.full(step.log_probs.shape, self.lowest)
        rows, pieces, values = list[int](), list[int](), list[float]()
        for row, (found, before) in enumerate(zip(state.found, written, strict=True)):
            best: dict[int, float] = {}
            for start in range(len(before) + 1):
                for piece, value in found.get(before[start:], {}).items():
                    best[piece] = max(value, best.get(piece, self.lowest))
            rows += [row] * len(best)
            pieces += best
            values += best.values()
        added[torch.tensor(rows, dtype=torch.long), torch.tensor(pieces, dtype=torch.long)] = torch.tensor(values)
        added[:, EOS] = 0.0
        return self.weight * added.to(step.log_probs), state._replace(written=written)

    def _continuations(self, source: list[int]) -> Continuations:
        """The last piece of each target phrase of a source, by the pieces before it."""
        found: Continuations = {}
        for start in range(len(source)):
            for end in range(start + 1, min(len(source), start + self._longest[0]) + 1):
                for target, value in self._pairs.get(tuple(source[start:end]), {}).items():
                    known = found.setdefault(target[:-1], {})
                    known[target[-1]] = max(value, known.get(target[-1], -math.inf))
        return found
