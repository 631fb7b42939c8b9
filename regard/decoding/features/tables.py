"""Resources of a run for features: its pieces, and the tables that `regard tune` has learnt or that a user brings."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Annotated, NamedTuple, cast

import torch
from torch import Tensor

from regard.config import Doc
from regard.data.columns import TextColumn
from regard.data.manifest import verify_file
from regard.decoding.features.feature import Surroundings
from regard.errors import ConfigError, DataError
from regard.pieces import SPECIALS
from regard.statistical.lexical_table import Lexicon

SPACE = "▁"  # before a piece that begins a word
LEXICON = "lexicon.tsv.gz"  # in the folder of what was learnt
LexiconFile = Annotated[Path | None, Doc("Lexicon of regard align --lexicon; null: that of regard tune.")]


def learnt_file(file: Path | None, run: Surroundings, name: str) -> Path:
    """Return the file that a setting names, or the learnt one.

    Raises DataError where it is missing, CheckpointError for a learnt one that is not as it was written.
    """
    path = run.learnt / name if file is None else file
    if not path.is_file():
        hint = "learn it from the training texts: regard tune RUN" if file is None else "check decoding.features"
        raise DataError(path, "there is no such file", hint=hint)
    if file is None:
        verify_file(path, f"make it again: regard tune {quote(str(run.learnt.parent))}")
    return path


def source_column(run: Surroundings) -> TextColumn:
    """Return the column that is translated. Raises ConfigError for a run that does not translate."""
    if not {"source", "target"} <= run.columns.keys():
        raise ConfigError("decoding.features", "reads a source, and this run does not translate", "leave it out")
    return cast(TextColumn, run.columns["source"])


def target_column(run: Surroundings) -> TextColumn:
    """Return the column that is written, the last one."""
    return cast(TextColumn, [*run.columns.values()][-1])


def spelled_pieces(column: TextColumn) -> list[str]:
    """Return how tables spell each id: as it is shown, with the mark of a word's beginning for spaces."""
    pieces = column.pieces(range(len(column)))
    return ["".join(SPACE if character.isspace() else character for character in piece) for piece in pieces]


class Spelling:
    """Words of a table → ids. A table with the mark of a word's beginning is one of pieces, any other one of texts."""

    def __init__(self, column: TextColumn, words: Iterable[str]) -> None:
        pieces = reversed([*enumerate(spelled_pieces(column))])
        self.column, self._ids = column, {piece: place for place, piece in pieces}
        self._are_pieces = any(SPACE in word for word in words)
        self._spelt = lru_cache(maxsize=None)(self._cut)

    def ids(self, words: tuple[str, ...]) -> tuple[int, ...]:
        """Return the ids of words that stand side by side; none where one of the pieces is unknown."""
        return self._spelt(words)

    def _cut(self, words: tuple[str, ...]) -> tuple[int, ...]:
        if not self._are_pieces:
            return tuple(self.column.encode(" ".join(words)))
        found = [self._ids.get(word, -1) for word in words]
        return tuple(found) if -1 not in found else ()


class PieceTranslations(NamedTuple):
    """The likeliest target pieces of each source piece, falling; of fewer the rest has probability 0."""

    ids: Tensor  # (source vocabulary, count)
    values: Tensor  # (source vocabulary, count) float32

    @classmethod
    def read(cls, path: Path, run: Surroundings, count: int) -> "PieceTranslations":
        """Read a lexicon. Of words that have several pieces, a pair of pieces has the best of their probabilities.

        Raises DataError for a line that is not an entry, and for a lexicon of which nothing is known to the run.
        """
        lexicon, columns = Lexicon.read(path), (source_column(run), target_column(run))
        sides = (lexicon.source_words, lexicon.target_words)
        read, written = (Spelling(column, words) for column, words in zip(columns, sides, strict=True))
        best: dict[int, dict[int, float]] = {}
        for source, target, p in lexicon:
            for piece in read.ids((source,)) if source else ():
                known = best.setdefault(piece, {})
                for other in written.ids((target,)):
                    known[other] = max(known.get(other, 0.0), p)
        if not best:
            raise DataError(path, "none of its words is known to the run", hint="is it of other languages?")
        ids = torch.zeros(len(columns[0]), count, dtype=torch.long)
        values = torch.zeros(len(columns[0]), count)
        for piece, known in best.items():
            ranked = sorted(known.items(), key=lambda one: (-one[1], one[0]))[:count] if piece >= len(SPECIALS) else []
            for place, (other, p) in enumerate(ranked):
                ids[piece, place], values[piece, place] = other, p
        return cls(ids, values)
