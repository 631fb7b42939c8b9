"""The contract of behaviour suites: cases of texts, and the fault of their answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple

from regard.config import read_yaml


class LanguageTexts(NamedTuple):
    """Texts of one language; the same place of two languages has the same meaning."""

    keys: Sequence[str]  # patterns of the noun of a sentence, question or word, in usual translations
    sentences: Sequence[tuple[str, str]]  # plain, negated
    opposites: Sequence[str]  # patterns of words that negate a sentence by their meaning, without accents
    questions: Sequence[str]
    words: Sequence[str]
    numbers: dict[str, str]  # by kind of number, with {n}
    names: Sequence[str]  # with {name}
    dates: Sequence[str]  # with {date}
    months: Sequence[str]
    tags: Sequence[str]  # with {sentence}, {lower} (the same without capital) or {key}
    joint: str  # between two sentences


@cache
def _all() -> dict[str, LanguageTexts]:
    read = read_yaml(Path(__file__).with_name("texts.yaml"))
    return {language: LanguageTexts(**one) for language, one in read.items()}


def languages_with_texts() -> list[str]:
    """Return the codes of the languages that suites have texts of."""
    return [*_all()]


def behaviour_texts(language: str) -> LanguageTexts:
    """Return the texts of a language, by its code. Raises KeyError for one without texts."""
    return _all()[language]


class CodePair(NamedTuple):
    """Language codes without regions."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}→{self.target}"


def base_code(code: str) -> str:
    """Return a language code without its region, in small letters."""
    return code.replace("_", "-").partition("-")[0].lower()


class Case(NamedTuple):
    """Texts to translate; the first is the one that is tested, others are compared with it."""

    texts: tuple[str, ...]
    fault: Callable[[Sequence[str]], str]  # answers → the fault of the first; "": right, or not certain


class Suite(ABC):
    """A kind of test. A row of SUITES, built with the language pair.

    `fault` of a case reports certain errors alone: an answer in doubt passes.
    """

    about: ClassVar[str]  # what an answer must keep, for the report
    reads: ClassVar[bool] = True  # needs texts in the source language
    writes: ClassVar[bool] = True  # needs words of the target language

    def __init__(self, pair: CodePair) -> None:
        self.pair = pair

    @property
    def texts(self) -> LanguageTexts:
        """Texts in the source language."""
        return behaviour_texts(self.pair.source)

    @property
    def keyed(self) -> list[tuple[str, str]]:
        """Plain sentences, each with the pattern of its noun in the target language."""
        plain = [sentence for sentence, _ in self.texts.sentences]
        return [*zip(plain, behaviour_texts(self.pair.target).keys, strict=True)]

    def missing(self) -> str:
        """Return why the suite does not test this pair; "" where it does."""
        known = languages_with_texts()
        needed = [code for code, is_needed in zip(self.pair, (self.reads, self.writes), strict=True) if is_needed]
        unknown = [code for code in needed if code not in known]
        return f"knows no words of '{unknown[0]}'" if unknown else ""

    @abstractmethod
    def cases(self, draw: Random) -> Iterator[Case]:
        """Yield cases, sampled with a random generator; may be endless."""
