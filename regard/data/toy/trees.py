"""Meanings of sentences, independent of language: trees of rules that every language has."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

SETS = frozenset({"classes", "subjects", "objects", "places", "flags", "nouns", "slots"})  # columns of several words


class Lexeme:
    """A line of a table: its cells by column name, a set where a column holds several words.

    Nouns: `plural` is empty where it is not used, `measure` where nothing is counted. Verbs: `german` is the infinitive
    without its `prefix` (in which "_" is a space), also the form of all plurals; `subjects`, `objects` and `places` are
    classes of nouns that make sense with it; the Chinese object stands before `chinese_end`; `result` is the form
    behind 把, `ongoing` that of what is going on, where that is not 在. Adjectives: `stem` takes the German endings;
    `attribute` stands before a Chinese noun, `predicate` behind a subject. Subjects: `person` is 1, 3, p for all
    plurals, w for the "it" of the weather. Prepositions: `kind` is that of their places; all take the German dative.
    """

    def __init__(self, **cells: object) -> None:
        vars(self).update(cells)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class _Lexicon(NamedTuple):
    """All tables."""

    nouns: tuple[Lexeme, ...]
    verbs: tuple[Lexeme, ...]
    adjectives: tuple[Lexeme, ...]
    times: tuple[Lexeme, ...]
    subjects: tuple[Lexeme, ...]  # pronouns and names
    prepositions: tuple[Lexeme, ...]
    numbers: tuple[Lexeme, ...]


@cache
def lexicon() -> _Lexicon:
    """Return the words, read once."""
    return _Lexicon(*(tuple(_rows(table)) for table in _Lexicon._fields))


def _rows(table: str) -> Iterator[Lexeme]:
    """Yield the lines of a table by the names in its first line."""
    head, *lines = files(__package__).joinpath(f"{table}.tsv").read_text("utf-8").splitlines()
    for line in lines:
        cells = zip(head.split("\t"), line.split("\t"), strict=True)
        yield Lexeme(**{name: frozenset(cell.split()) if name in SETS else cell for name, cell in cells})


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
