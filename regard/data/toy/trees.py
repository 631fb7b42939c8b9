"""The meaning of a sentence before any language says it: trees of rules that every language has."""

from types import SimpleNamespace
from typing import Literal

from regard.data.toy.word_tables import Word

Tense = Literal["past", "future", "progressive", "habit", "state"]
TENSES: dict[str, Tense] = {"P": "past", "F": "future", "G": "progressive", "H": "habit", "S": "state"}
Determiner = Literal["the", "a", "this", "my", "number", "none"]
DEFINITE: frozenset[Determiner] = frozenset({"the", "this", "my"})
Slot = Literal["front", "mid", "end"]  # of a time in an English sentence


class Derivation(SimpleNamespace):
    """A rule with what fills it: words, other trees, and features."""

    def __init__(self, rule: str, **parts: object) -> None:
        super().__init__(rule=rule, **parts)


def phrase(
    noun: Word,
    determiner: Determiner,
    adjective: Word | None = None,
    plural: bool = False,
    number: Word | None = None,
) -> Derivation:
    """the old book, three cats, milk."""
    return Derivation(
        "phrase",
        noun=noun,
        determiner=determiner,
        adjective=adjective,
        plural=plural,
        number=number,
        definite=determiner in DEFINITE,
        person="p" if plural else "3",
        agreement="p" if plural else noun.gender,
    )


def place(preposition: Word, where: Derivation) -> Derivation:
    """on the old table."""
    return Derivation("place", preposition=preposition, where=where)


def event(
    subject: Word | Derivation,
    verb: Word,
    tense: Tense,
    object: Derivation | None = None,
    *,
    receiver: Derivation | None = None,
    companion: Derivation | None = None,
    place: Derivation | None = None,
    time: Word | None = None,
    slot: Slot = "end",
    negative: bool = False,
) -> Derivation:
    """Somebody does something. With no time, a habit is what a clause with "when" tells."""
    return Derivation("event", **locals())


def quality(subject: Word | Derivation, adjective: Word, negative: bool = False) -> Derivation:
    """The old house is small."""
    return Derivation("quality", **locals())


def located(subject: Derivation, place: Derivation, negative: bool = False) -> Derivation:
    """The book is on the table."""
    return Derivation("located", **locals())


def presence(place: Derivation, what: Derivation, negative: bool = False) -> Derivation:
    """In the garden there are three cats."""
    return Derivation("presence", **locals())


def statement(clause: Derivation) -> Derivation:
    """A main clause, or what is present."""
    return Derivation("statement", clause=clause)


def question(clause: Derivation) -> Derivation:
    """To be answered by yes or no."""
    return Derivation("question", clause=clause)


def joined(
    main: Derivation, conjunction: Literal["because", "that", "when"], other: Derivation, turned: bool = False
) -> Derivation:
    """A main clause with a subordinate one, which comes first with `turned`."""
    return Derivation("joined", **locals())
