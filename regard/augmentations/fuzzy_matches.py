"""Translations of similar segments behind the source: Neural Fuzzy Repair, https://aclanthology.org/P19-1175."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from annotated_types import Ge, Le

from regard.augmentations.augmentation import BatchFraction, SourceAugmentation, SourceHints, TrainingPair
from regard.config import Doc
from regard.config.bounds import Size
from regard.memory import TranslationMemory, TranslationUnit
from regard.text.source_marks import MATCH, without_source_marks


class FuzzyMatches(SourceAugmentation):
    """Appends the translations of the segments that are most like the source, each after the piece ⟦match⟧.

    In training the segments are the other training pairs, at prediction those of a translation memory. A segment with
    the same source is never taken.
    """

    min_percent: int
    matches: int

    def __init__(
        self,
        *,
        threshold: Annotated[int, Ge(1), Le(99), Doc("Minimum similarity of a segment, in per cent.")] = 50,
        matches: Annotated[Size, Doc("Maximum number of segments for a source.")] = 1,
        fraction: BatchFraction = 0.5,
    ) -> None:
        self.min_percent, self.matches, self.fraction = threshold, matches, fraction

    def augmented(self, source: str, hints: SourceHints) -> str:
        similar = [one for one in hints.matches if one.percent >= self.min_percent and not one.exact][: self.matches]
        return " ".join([source, *(f"{MATCH} {without_source_marks(one.target)}" for one in similar)])

    def hints(self, pairs: Sequence[TrainingPair], seed: int) -> Iterator[tuple[int, SourceHints]]:
        del seed  # the most similar pairs are the same in every run
        with TemporaryDirectory() as folder:
            memory = TranslationMemory(Path(folder) / "pairs.memory", ("source", "target"))
            memory.add(TranslationUnit(source, target) for source, target in pairs)
            for place, (source, _) in enumerate(pairs):
                if found := memory.similar(source, threshold=self.min_percent, limit=self.matches):
                    yield place, SourceHints(matches=found)
            memory.close()
