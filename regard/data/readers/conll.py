"""CoNLL files: one word with its tags per line, an empty line after each sentence; detection of their fields."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, NamedTuple

from regard.aliases import alias
from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, FileReader
from regard.data.readers.tables import FieldNumbers, Fields, TableLayout, check_delimiter, field_places
from regard.errors import DataError

_DOCUMENT = "-DOCSTART-"  # the word of a line that begins a document
NO_WORD = re.compile(r"\d+[-.]\d+")  # the number of a token of several words (1-2), or of an empty node (1.1)
_INSPECTED = 20_000  # sentences whose tags are collected
CONLLU = 10  # fields of CoNLL-U: a number, the word, its lemma, its universal tag …
CONLLU_FIELDS = (2, 4)  # of them the word and its universal tag
_SPAN = re.compile(r"O|[BIESLU](-.*)?")  # a tag of a span, or of none


class ConllReader(FileReader):
    """A sentence is an example; its columns hold a value for each word, separated by spaces. `fields` counts from 1.

    Spaces within a field become `_`. Lines with # before the first word of a sentence are comments; in files with
    tabs a line with a tab is not: `#tag<TAB>X` is a word. Without `fields` they are taken in order; CoNLL-U gives
    the word and its universal tag, 2 and 4. -DOCSTART- lines are left out; so are lines with 1-2 or 1.1 in the first
    field, where no column reads that field. Raises DataError for a line that lacks a field. An example has the
    number of its first word's line.
    """

    answers = ("tags",)
    aliases = (
        "conll2003, conll_columns, bio, iob",
        alias("conllu, universal_dependencies", {"fields": {"text": 2, "tags": 4}}),
    )

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: FieldNumbers = None,
        delimiter: Annotated[
            str | None, Doc("Field delimiter; null: tab, or spaces if the first word's line has no tab.")
        ] = None,
    ) -> None:
        check_delimiter(delimiter, "one character, or leave it out")
        super().__init__(columns, file)
        if fields is None and len(columns) == len(CONLLU_FIELDS) and _is_conllu(self.path, delimiter):
            fields = dict(zip(columns, CONLLU_FIELDS, strict=True))
        self._places, self._delimiter = field_places(columns, fields), delimiter
        self._numbered = 0 not in self._places.values()

    def key(self) -> str:
        return f"conll {self._places} {self._delimiter!r}"

    def __iter__(self) -> Iterator[Example]:
        for rows in conll_sentences(self.path, self._delimiter):
            words = [row for row in rows if not (self._numbered and NO_WORD.fullmatch(row.cells[0]))]
            if words:
                values = zip(*(self._fields(row) for row in words), strict=True)
                texts = {column: " ".join(each) for column, each in zip(self._places, values, strict=True)}
                yield Example(words[0].line, texts)

    def _fields(self, row: "TokenRow") -> list[str]:
        """Return the value of a line in each column."""
        for column, place in self._places.items():
            if place >= len(row.cells):
                problem = f"fields: {len(row.cells)}; '{column}' is field {place + 1}"
                raise DataError(
                    self.path,
                    problem,
                    line=row.line,
                    hint="a word and its tags a line, an empty line between sentences",
                )
            if not row.cells[place]:
                raise DataError(self.path, f"field {place + 1}, '{column}', is empty", line=row.line)
        return ["_".join(row.cells[place].split()) or "_" for place in self._places.values()]


class TokenRow(NamedTuple):
    """A line other than a comment."""

    line: int  # from 1
    cells: Sequence[str]


def conll_sentences(path: Path, delimiter: str | None = None) -> Iterator[list[TokenRow]]:
    """Return the rows of each sentence, comments and beginnings of documents left out."""
    rows = list[TokenRow]()
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            if rows:
                yield rows
            rows = []
        elif rows or not _is_comment(line, delimiter):
            delimiter = delimiter or ("\t" if "\t" in line else " ")
            cells = line.split() if delimiter == " " else line.split(delimiter)
            if cells[0] != _DOCUMENT:
                rows.append(TokenRow(number, cells))
    if rows:
        yield rows


def conll_layout(path: Path, columns: Sequence[str], like: Fields | None = None) -> TableLayout:
    """Return the fields of the words and of their tags: `columns` are their names.

    CoNLL-U: fields 2 and 4. Other rows: the first field, and the last one where all its values are span tags
    (B-PER I-PER O), else the second. `like` gives the fields of another file of the same data, which are then used.
    Raises DataError for a file that is missing or empty.
    """
    text, tags = columns
    rows = [row.cells for row in chain.from_iterable(islice(conll_sentences(path), _INSPECTED))]
    if not rows:
        raise DataError(path, "has no words, only empty lines", hint="a word and its tags a line")
    fields = dict(like) if like is not None else dict(zip((text, tags), _places(rows), strict=True))
    known = {row[fields[tags] - 1] for row in rows if len(row) >= fields[tags]}
    return TableLayout(fields, False, tuple(sorted(known)))


def _is_comment(line: str, delimiter: str | None) -> bool:
    """Return whether a line before the first word of a sentence is a comment."""
    word = "\t" in line and delimiter in (None, "\t") and not line.startswith("# ")
    return line.startswith("#") and not word


def _is_conllu(path: Path, delimiter: str | None) -> bool:
    """Return whether a file's first sentence has the fields of CoNLL-U; False where it cannot be read."""
    try:
        return _are_conllu([row.cells for row in next(conll_sentences(path, delimiter), [])])
    except DataError:
        return False  # the error is raised where the file is read


def _are_conllu(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row begins with a number, and has as many fields as CoNLL-U."""
    full = (len(row) >= CONLLU and (row[0].isdigit() or NO_WORD.fullmatch(row[0])) for row in rows)
    return bool(rows) and all(full)


def _places(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the fields, from 1, of the word and of its tag."""
    least = min(map(len, rows), default=2)
    if _are_conllu(rows):
        return CONLLU_FIELDS
    spans = least > 2 and all(_SPAN.fullmatch(row[-1]) for row in rows)
    return 1, least if spans else 2
