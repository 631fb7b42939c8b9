"""The contract of checks of sentence pairs, and what they share."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

from regard.text.words import cut_words

CLEAR_FAULT = 0.5  # severity from which a pair is left out of a clean copy
_SPACES = re.compile(r"\s+")


class TextPair(NamedTuple):
    """A sentence and its translation, as their files have them."""

    source: str
    target: str


class Finding(NamedTuple):
    """A fault of one pair."""

    row: int  # of the pair, from 0
    severity: float  # 0 to 1: the probability, by the check's own measure, that the pair is useless
    reason: str


class PairCorpus:
    """Sentence pairs, and what several checks read of them."""

    def __init__(self, pairs: Sequence[TextPair]) -> None:
        self.pairs = pairs

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        """Return all sources and all targets."""
        return [pair.source for pair in self.pairs], [pair.target for pair in self.pairs]

    @cached_property
    def words(self) -> list[tuple[list[str], list[str]]]:
        """Return the words of each pair in lower case, signs among them."""
        return [(lower_words(source), lower_words(target)) for source, target in self.pairs]


class PairCheck(ABC):
    """A row of PAIR_CHECKS: one kind of fault."""

    about: ClassVar[str]  # what the fault is, as a heading
    quick: ClassVar[bool] = True  # True if it takes less than a millisecond for ten pairs, so each training runs it

    @abstractmethod
    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        """Yield the faults of pairs. At most one of each pair."""


def lower_words(text: str) -> list[str]:
    """Return words and signs in lower case, without spaces."""
    return [word for piece in cut_words(text.lower()) if (word := piece.strip())]


def folded(text: str) -> str:
    """Return a text by which texts that differ in case, width or spaces alone are equal."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def holds_letters(text: str) -> bool:
    """Return whether a text has a letter."""
    return any(character.isalpha() for character in text)
