"""The words of the toy languages: one line of a table is one frozen entry here."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Noun:
    """A thing. The plural is empty where it is not used; a mass noun has no measure word."""

    english: str
    plural: str
    german: str
    gender: str  # m, f, n
    german_plural: str
    chinese: str
    measure: str
    classes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verb:
    """What is done. `subjects`, `objects` and `places` are classes of nouns that make sense with it."""

    english: str
    third: str
    past: str
    ing: str
    german: str  # the infinitive without its prefix, also the form of all plurals
    first: str
    third_german: str
    participle: str
    auxiliary: str  # haben, sein
    prefix: str  # goes to the end of a main clause; "_" is the gap of a prefix written apart
    case: str  # of the object: acc, dat
    preposition: str
    chinese: str  # "…" is where the object stands when it is not the end
    result: str  # the form behind 把
    ongoing: str  # the form of what is going on, where that is not 在
    subjects: frozenset[str]
    objects: frozenset[str]
    places: frozenset[str]
    tenses: str
    flags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Adjective:
    """What something is like, for the classes of nouns with which it has this sense."""

    english: str
    german: str
    stem: str  # takes the endings
    attribute: str  # Chinese, before a noun
    predicate: str  # Chinese, after a subject
    nouns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Time:
    """When: with the tenses it goes with and the slots of an English sentence it may fill."""

    english: str
    german: str
    chinese: str
    tenses: str
    slots: frozenset[str]


@dataclass(frozen=True, slots=True)
class Word:
    """A pronoun or a name as subject."""

    english: str
    german: str
    chinese: str
    person: str  # 1, 3, p for all plurals, w for the "it" of the weather


@dataclass(frozen=True, slots=True)
class Preposition:
    """Where, for the places of one kind. All take the dative in German."""

    english: str
    german: str
    chinese: str
    kind: str


@dataclass(frozen=True, slots=True)
class Number:
    """How many, from two."""

    english: str
    german: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All tables."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    times: tuple[Time, ...]
    subjects: tuple[Word, ...]
    prepositions: tuple[Preposition, ...]
    numbers: tuple[Number, ...]

    def __len__(self) -> int:
        tables = (self.nouns, self.verbs, self.adjectives, self.times, self.subjects, self.prepositions, self.numbers)
        return sum(map(len, tables))


SETS = frozenset({"classes", "subjects", "objects", "places", "flags", "nouns", "slots"})  # columns of several words


def rows(table: str) -> Iterator[dict[str, str]]:
    """The lines of a table by the names in its first line."""
    head, *lines = files(__package__).joinpath(f"{table}.tsv").read_text("utf-8").splitlines()
    columns = head.split("\t")
    for line in lines:
        yield dict(zip(columns, line.split("\t"), strict=True))


def entries(table: str) -> Iterator[dict[str, Any]]:
    """The same, with sets where a column holds several words."""
    for row in rows(table):
        yield {name: frozenset(cell.split()) if name in SETS else cell for name, cell in row.items()}


@cache
def lexicon() -> Lexicon:
    """The words, read once."""
    return Lexicon(
        nouns=tuple(Noun(**row) for row in entries("nouns")),
        verbs=tuple(Verb(**row) for row in entries("verbs")),
        adjectives=tuple(Adjective(**row) for row in entries("adjectives")),
        times=tuple(Time(**row) for row in entries("times")),
        subjects=tuple(Word(**row) for row in rows("subjects")),
        prepositions=tuple(Preposition(**row) for row in rows("prepositions")),
        numbers=tuple(Number(**row) for row in rows("numbers")),
    )
