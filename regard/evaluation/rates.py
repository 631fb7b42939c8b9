"""Plain symptoms of a poor translation: too short, stuttering, left untranslated. Words as in `scripts.words`."""

import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Rate, Statistics
from regard.evaluation.tokenization import words
from regard.runtime.loops import loop_of

SIGNATURE = "words:unicode|han:characters"
_ENDINGS = re.compile(r"[^\W\d_]([^\W\d_]{2,8})(?:-\1){2,}(?!\w)")


class WordRate(Rate):
    """A rate of words."""

    higher_is_better: ClassVar[bool | None] = False

    def signature(self, corpus: Corpus) -> str:
        return SIGNATURE


class LengthRatio(WordRate):
    """Words of the hypotheses / words of the references (of several, the one nearest in length). 1 is best."""

    name = "length ratio"
    factor = 1.0
    higher_is_better = None

    def statistics(self, corpus: Corpus) -> Statistics:
        """[words of the hypothesis, words of the reference] for each sentence."""
        rows = []
        for text, several in zip(corpus.hypotheses, corpus.references, strict=True):
            length = len(words(text))
            lengths = (len(words(reference)) for reference in several)
            rows.append([length, min(lengths, key=lambda other: (abs(other - length), other))])
        return np.array(rows, dtype=np.float64)


class RepetitionRate(WordRate):
    """100 · words that repeat the word or the two words just before, beyond what the reference repeats / words.

    "the the big cat the big cat" has one such word, the second; "ha ha ha" has two. A word with a loop inside, such as
    "lalalalala", counts, too.
    """

    name = "repetition rate"

    def signature(self, corpus: Corpus) -> str:
        return f"{super().signature(corpus)}|loops:inside words"

    def statistics(self, corpus: Corpus) -> Statistics:
        """[repeated words beyond the reference, words] for each sentence."""
        rows = []
        for text, several in zip(corpus.hypotheses, corpus.references, strict=True):
            found = words(text)
            allowed = max(repetitions(words(reference)) for reference in several)
            rows.append([max(repetitions(found) - allowed, 0), len(found)])
        return np.array(rows, dtype=np.float64)


class UntranslatedRate(WordRate):
    """100 · words copied from the source that no reference has / words. Needs the sources; numbers never count."""

    name = "untranslated rate"

    def statistics(self, corpus: Corpus) -> Statistics:
        """[copied words, words] for each sentence. Raises RegardError when there are no sources."""
        if corpus.sources is None:
            raise RegardError("evaluation: the untranslated rate needs the source texts; give them too")
        rows = []
        for text, several, source in zip(corpus.hypotheses, corpus.references, corpus.sources, strict=True):
            found = words(text)
            known = {word for reference in several for word in words(reference)}
            copied = {word for word in words(source) if word.isalpha()} - known
            rows.append([sum(word in copied for word in found), len(found)])
        return np.array(rows, dtype=np.float64)


def repetitions(found: Sequence[str]) -> int:
    """Count the words that end a 1-gram or a 2-gram that stands right after itself, or that have a loop inside."""
    return sum(
        loops_inside(word)
        or (end >= 1 and word == found[end - 1])
        or (end >= 3 and found[end - 1 : end + 1] == found[end - 3 : end - 1])
        for end, word in enumerate(found)
    )


def loops_inside(word: str) -> bool:
    """Return whether up to eight letters follow themselves three times or more within a word, eight letters in all.

    Behind hyphens twice are enough where they end a longer part of the word; "cha-cha-cha" is a word.

    >>> loops_inside("lalalalalala"), loops_inside("barbarian"), loops_inside("Donau-nau-nau")
    (True, False, True)
    """
    return (word.isalpha() and loop_of([*map(ord, word)]) is not None) or _ENDINGS.search(word) is not None
