"""Accuracy by place: the share of characters or words that are right where they stand."""

from abc import abstractmethod

import numpy as np

from regard.evaluation.metric import Corpus, Rate, Statistics
from regard.text.clean import clean


class PlaceAccuracy(Rate):
    """The code that both accuracies share."""

    answer_kind = "symbols"

    @abstractmethod
    def cut(self, text: str) -> list[str]:
        """Return what is right or wrong by itself."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """[right items, items] of each text; of several references the first counts."""
        rows = []
        for text, (reference, *_) in zip(corpus.hypotheses, corpus.references, strict=True):
            given, wanted = self.cut(text), self.cut(reference)
            right = sum(one == other for one, other in zip(given, wanted, strict=False))
            rows.append([right, max(len(given), len(wanted))])
        return np.array(rows, np.float64)

    def signature(self, corpus: Corpus) -> str:
        return f"by:place|items:{self.name.split()[0]}"


class CharacterAccuracy(PlaceAccuracy):
    """100 · characters that equal the one at their place in the reference / characters.

    A character that is missing or too many is wrong. Characters are code points after NFC.
    """

    name = "character accuracy"

    def cut(self, text: str) -> list[str]:
        return list(clean(text))


class WordAccuracy(PlaceAccuracy):
    """100 · words that equal the one at their place in the reference / words.

    A word that is missing or too many is wrong. Words are parted by spaces.
    """

    name = "word accuracy"

    def cut(self, text: str) -> list[str]:
        return text.split()
