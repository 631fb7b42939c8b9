"""What a sentence says before any language says it."""

from dataclasses import dataclass
from typing import Literal

from regard.data.toy.lexicon import Adjective, Noun, Number, Preposition, Time, Verb, Word

Tense = Literal["past", "future", "progressive", "habit", "state"]
TENSES: dict[str, Tense] = {"P": "past", "F": "future", "G": "progressive", "H": "habit", "S": "state"}
Determiner = Literal["the", "a", "this", "my", "number", "none"]
DEFINITE: frozenset[Determiner] = frozenset({"the", "this", "my"})


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """the old book, three cats, milk."""

    noun: Noun
    determiner: Determiner
    adjective: Adjective | None = None
    plural: bool = False
    number: Number | None = None

    @property
    def definite(self) -> bool:
        return self.determiner in DEFINITE


Subject = Word | NounPhrase


@dataclass(frozen=True, slots=True)
class Place:
    """on the old table."""

    preposition: Preposition
    where: NounPhrase


@dataclass(frozen=True, slots=True)
class Event:
    """Somebody does something. With no time, a habit is what a clause with "when" tells."""

    subject: Subject
    verb: Verb
    tense: Tense
    object: NounPhrase | None = None
    receiver: NounPhrase | None = None
    companion: NounPhrase | None = None
    place: Place | None = None
    time: Time | None = None
    slot: Literal["front", "mid", "end"] = "end"
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Quality:
    """The old house is small."""

    subject: Subject
    adjective: Adjective
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """The book is on the table."""

    subject: NounPhrase
    place: Place
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Presence:
    """In the garden there are three cats."""

    place: Place
    what: NounPhrase
    negative: bool = False


Clause = Event | Quality | Located


@dataclass(frozen=True, slots=True)
class Statement:
    """A main clause."""

    clause: Clause | Presence


@dataclass(frozen=True, slots=True)
class Question:
    """To be answered by yes or no."""

    clause: Clause


@dataclass(frozen=True, slots=True)
class Joined:
    """A main clause with a subordinate one, which comes first with `turned`."""

    main: Event | Quality
    conjunction: Literal["because", "that", "when"]
    other: Clause
    turned: bool = False


Sentence = Statement | Question | Joined


def person(subject: Subject) -> str:
    """1, 3 or p, which decides the form of the verb."""
    if isinstance(subject, NounPhrase):
        return "p" if subject.plural else "3"
    return "3" if subject.person == "w" else subject.person
