"""Meanings of sentences, independent of language: trees of rules that every language has."""

from types import SimpleNamespace
from typing import Literal

from regard.data.toy.word_tables import Lexeme

Tense = Literal["past", "future", "progressive", "habit", "state"]
TENSES: dict[str, Tense] = {"P": "past", "F": "future", "G": "progressive", "H": "habit", "S": "state"}
Determiner = Literal["the", "a", "this", "my", "number", "none"]
DEFINITE: frozenset[Determiner] = frozenset({"the", "this", "my"})
Slot = Literal["front", "mid", "end"]  # of a time in an English sentence


class RuleTree(SimpleNamespace):
    """A rule with its arguments: words, other trees, and features."""

    def __init__(self, rule: str, **parts: object) -> None:
        super().__init__(rule=rule, **parts)


def phrase(
    noun: Lexeme,
    determiner: Determiner,
    adjective: Lexeme | None = None,
    plural: bool = False,
    number: Lexeme | None = None,
) -> RuleTree:
    """the old book, three cats, milk."""
    return RuleTree(
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


def placed_at(preposition: Lexeme, where: RuleTree) -> RuleTree:
    """on the old table."""
    return RuleTree("place", preposition=preposition, where=where)


def event(
    subject: Lexeme | RuleTree,
    verb: Lexeme,
    tense: Tense,
    object: RuleTree | None = None,
    *,
    receiver: RuleTree | None = None,
    companion: RuleTree | None = None,
    place: RuleTree | None = None,
    time: Lexeme | None = None,
    slot: Slot = "end",
    negative: bool = False,
) -> RuleTree:
    """Somebody does something. A habit without a time is the content of a "when" clause."""
    return RuleTree("event", **locals())


def quality(subject: Lexeme | RuleTree, adjective: Lexeme, negative: bool = False) -> RuleTree:
    """The old house is small."""
    return RuleTree("quality", **locals())


def located(subject: RuleTree, place: RuleTree, negative: bool = False) -> RuleTree:
    """The book is on the table."""
    return RuleTree("located", **locals())


def presence(place: RuleTree, what: RuleTree, negative: bool = False) -> RuleTree:
    """In the garden there are three cats."""
    return RuleTree("presence", **locals())


def statement(clause: RuleTree) -> RuleTree:
    """A main clause, or a statement of presence."""
    return RuleTree("statement", clause=clause)


def question(clause: RuleTree) -> RuleTree:
    """A yes-no question."""
    return RuleTree("question", clause=clause)


def joined(
    main: RuleTree, conjunction: Literal["because", "that", "when"], other: RuleTree, turned: bool = False
) -> RuleTree:
    """A main clause with a subordinate one, which comes first with `turned`."""
    return RuleTree("joined", **locals())
