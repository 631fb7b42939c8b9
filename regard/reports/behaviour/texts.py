"""Texts of the suites in each language, which translate each other line by line."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
