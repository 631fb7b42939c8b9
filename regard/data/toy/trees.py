"""What a sentence says before any language says it: trees of rules that every language has."""

from types import SimpleNamespace
from typing import Literal

from regard.data.toy.lexicon import Word

Tense = Literal["past", "future", "progressive", "habit", "state"]
TENSES: dict[str, Tense] = {"P": "past", "F": "future", "G": "progressive", "H": "habit", "S": "state"}
Determiner = Literal["the", "a", "this", "my", "number", "none"]
DEFINITE: frozenset[Determiner] = frozenset({"the", "this", "my"})
Slot = Literal["front", "mid", "end"]  # of a time in an English sentence


class Tree(SimpleNamespace):
    """A rule with what fills it: words, other trees, and features."""

    def __init__(self, rule: str, **parts: object) -> None:
        super().__init__(rule=rule, **parts)


def phrase(
    noun: Word,
    determiner: Determiner,
    adjective: Word | None = None,
    plural: bool = False,
    number: Word | None = None,
) -> Tree:
    """the old book, three cats, milk."""
    return Tree(
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


def place(preposition: Word, where: Tree) -> Tree:
    """on the old table."""
    return Tree("place", preposition=preposition, where=where)


def event(
    subject: Word | Tree,
    verb: Word,
    tense: Tense,
    object: Tree | None = None,
    *,
    receiver: Tree | None = None,
    companion: Tree | None = None,
    place: Tree | None = None,
    time: Word | None = None,
    slot: Slot = "end",
    negative: bool = False,
) -> Tree:
    """Somebody does something. With no time, a habit is what a clause with "when" tells."""
    return Tree("event", **locals())


def quality(subject: Word | Tree, adjective: Word, negative: bool = False) -> Tree:
    """The old house is small."""
    return Tree("quality", **locals())


def located(subject: Tree, place: Tree, negative: bool = False) -> Tree:
    """The book is on the table."""
    return Tree("located", **locals())


def presence(place: Tree, what: Tree, negative: bool = False) -> Tree:
    """In the garden there are three cats."""
    return Tree("presence", **locals())


def statement(clause: Tree) -> Tree:
    """A main clause, or what is present."""
    return Tree("statement", clause=clause)


def question(clause: Tree) -> Tree:
    """To be answered by yes or no."""
    return Tree("question", clause=clause)


def joined(main: Tree, conjunction: Literal["because", "that", "when"], other: Tree, turned: bool = False) -> Tree:
    """A main clause with a subordinate one, which comes first with `turned`."""
    return Tree("joined", **locals())
