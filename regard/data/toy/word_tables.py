"""The words of the toy languages: a line of a table is a word, with its forms in all of them."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

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
