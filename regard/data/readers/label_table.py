"""Detection of the label field and the text fields of a table, from its rows."""

import re
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers import reader_class
from regard.data.readers.tables import Fields, TableLayout
from regard.errors import DataError
from regard.text.label_sets import read_labels

_MOST, LONGEST_LABEL = 1_000, 80  # labels there may be, and characters of one
_NAMES = frozenset(["label", "labels", "class", "category", "sentiment", "polarity", "topic", "intent", "target", "y"])
OFTEN = 5  # mean occurrences of a label's values, where no label is requested
_NUMBER_NAMES = ("number", "score", "rating", "stars", "value", "similarity", "relatedness", "target", "label", "y")
_MOSTLY = 0.9  # share of rows with a number, from which a field is one of numbers
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*[,;|]\s*")  # of several labels
# A word and another, or a few letters of another script.
_SENTENCE = re.compile(r"[^\W\d_]\W? [^\W\d_]|[^\x00-\x7f]{4}")


def label_layout(
    path: Path, kind: str, columns: Sequence[str], like: Fields | None = None, *, sets: bool = False
) -> TableLayout | None:
    """Return the fields of the texts and of the last column, the label, in a table of a `kind` of reader; or None.

    The label is the field that a header names so, else the field with the fewest different short values; the texts are
    the longest other fields, in order. The first line is also a header where its label occurs in no other line and each
    text is one word. `like` gives the fields of another table of the same data, for a table without a header.
    With `sets` a value holds any number of labels, with commas between them. Lines whose number of fields is unusual
    are ignored and reported in the notes. None: the reader has no tables. Raises DataError where no field looks like a
    label.
    """
    table = _described(path, kind, sets=sets)
    if table is None:
        return None
    fields, names, label, header, notes = table
    known = {one.key: one for one in fields}
    if label is None and like is not None and known.keys() >= set(like.values()):
        found = {column: known[like[column]] for column in columns}
    else:
        found = _found(path, fields, names, columns, label)
    labels = tuple(sorted(found[columns[-1]].values))
    if len(columns) == 2 and not sets and (hint := _hint_of_sets(labels)):
        notes = (*notes, hint)
    return TableLayout({column: one.key for column, one in found.items()}, header, labels, notes)


def number_layout(path: Path, kind: str, columns: Sequence[str], like: Fields | None = None) -> TableLayout | None:
    """Return the fields of the texts and of the last column, a number, in a table of a `kind` of reader; or None.

    The number is the only field of numbers in nine of ten rows, or the one that a header names; the texts are the
    longest other fields, in order. `like` gives the fields of another table of the same data. None: the reader has no
    tables. Raises DataError where no field, or more than one, may be the number.
    """
    table = _described(path, kind)
    if table is None:
        return None
    fields, names, _, header, notes = table
    *texts, last = columns
    known, named = {one.key: one for one in fields}, dict(zip(names, fields, strict=True))
    found = [one for one in fields if one.numbers >= _MOSTLY * one.rows]
    if like is not None and known.keys() >= {*like.values()}:
        chosen = {column: known[like[column]] for column in columns}
    else:
        found = next(([named[name]] for name in (last, *_NUMBER_NAMES) if named.get(name) in found), found)
        if len(found) != 1 or len(fields) <= len(texts):
            problem = f"{len(found)} fields have numbers" if found else "no field has numbers"
            example = ", ".join(f"{column}: {place}" for place, column in enumerate((last, *texts), start=1))
            raise DataError(path, problem, hint=f"name it: {{name: …, file: {path.name}, fields: {{{example}}}}}")
        others = [one for one in fields if one is not found[0]]
        longest = sorted(others, key=lambda one: one.characters, reverse=True)[: len(texts)]
        rows = [one for one in others if one in longest]
        by_name = [named[text] for text in texts if text in named]
        chosen = {**dict(zip(texts, by_name if len(by_name) == len(texts) else rows, strict=True)), last: found[0]}
    key = chosen[last].key
    header = header or (isinstance(key, int) and not _NUMBER.fullmatch(names[key - 1]))
    return TableLayout({column: one.key for column, one in chosen.items()}, header, (), notes)


def _hint_of_sets(values: Sequence[str]) -> str:
    """Return a hint where values look like sets of labels: parts of them are fewer than they, as they come again."""
    parted = {value: parts for value in values if len(parts := _SEPARATOR.split(value)) > 1}
    if not parted or len({part for value in values for part in parted.get(value, [value])}) >= len(values):
        return ""
    first = next(iter(parted))
    commas = "" if "," in first else "with commas between labels, "
    return f"'{first:.60}' looks like several labels of a text: {commas}task=multi_label predicts each by itself"


def holds_pairs(path: Path, kind: str) -> bool:
    """Return whether exactly two fields beside the label are texts: most of their values are more than one word."""
    table = _described(path, kind)
    if table is None:
        return False
    label = table.label or _likely(table.fields)
    return label is not None and sum(one.is_text for one in table.fields if one is not label) == 2


def holds_two_texts(path: Path, kind: str) -> bool:
    """Return whether a table has two fields, both of texts that are seldom repeated: a text and its translation.

    A field that a header names `target` is not a label then.
    """
    table = _described(path, kind)
    if table is None or len(table.fields) != 2 or (table.label is not None and "target" not in table.names):
        return False
    return all(one.is_text and 2 * len(one.values) > min(one.rows, _MOST) for one in table.fields)


def label_field(path: Path, kind: str) -> Any:
    """Return the field that looks like a label: each value occurs five times on average; None for none."""
    table = _described(path, kind)
    found = table and (table.label or _likely(table.fields))
    return found.key if found and found.rows >= OFTEN * len(found.values) and not found.is_text else None


def field_with(path: Path, kind: str, labels: Container[str]) -> Any:
    """Return the field of a table with the most different values among `labels`; None where no value is one."""
    table = _described(path, kind)
    counts = {one.key: sum(value in labels for value in one.values) for one in (table.fields if table else ())}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] else None


class _Field:
    """Counts of the values of a field."""

    def __init__(self, key: Any, *, sets: bool) -> None:
        self.key, self._sets = key, sets
        self.values: set[str] = set()  # the first few more than MOST
        self.rows = self.characters = self.longest = self.sentences = self.numbers = 0

    def add(self, value: str) -> None:
        """Count one more value."""
        labels = read_labels(value) if self._sets else [one] if (one := value.strip()) else []
        self.rows, self.characters = self.rows + 1, self.characters + len(value)
        self.longest = max([self.longest, *map(len, labels)])
        self.sentences += _SENTENCE.search(value) is not None
        self.numbers += _NUMBER.fullmatch(value.strip()) is not None
        if len(self.values) <= _MOST:
            self.values.update(labels)

    @property
    def may_be_label(self) -> bool:
        """Return whether values are few, short and repeated; numbers that are rarely repeated are measurements."""
        measures = self.numbers == self.rows and 2 * len(self.values) > self.rows
        few = 2 <= len(self.values) <= min(_MOST, self.rows - 1)
        return few and self.longest <= LONGEST_LABEL and not measures

    @property
    def is_text(self) -> bool:
        """Return whether most values are several words."""
        return 2 * self.sentences > self.rows


class _Table(NamedTuple):
    """The fields of a table, their names in the first line, and the field that a header names as the label."""

    fields: list[_Field]
    names: Sequence[str]
    label: _Field | None
    header: bool
    notes: tuple[str, ...]  # see TableLayout


def _described(path: Path, kind: str, *, sets: bool = False) -> _Table | None:
    """Describe the fields of a table by its first rows; None for a reader without tables."""
    table = reader_class(kind).first_rows(path)
    if table is None:
        return None
    keys, rows, notes = table
    first = [] if keys else next(rows, [])
    fields = [_Field(key, sets=sets) for key in keys or range(1, len(first) + 1)]
    for row in rows:
        _add(fields, row)
    names = keys or tuple(cell.strip().lower() for cell in first)
    label = next(
        (one for one, name in zip(fields, names, strict=True) if name in _NAMES and name not in one.values), None
    )
    if label is None and first and _names_fields(first, fields):
        label = _likely(fields)
    header = bool(first) and label is not None
    if first and not header:
        _add(fields, first)
    return _Table(fields, names, label, header, notes)


def _names_fields(first: Sequence[str], fields: Sequence[_Field]) -> bool:
    """Return whether a first line is a header: a label that occurs in no other line, and one word for each text."""
    label = _likely(fields)
    cells = dict(zip(fields, first, strict=True))
    texts = [cells[one] for one in fields if one.is_text]
    own = label is not None and bool(cells[label].strip()) and cells[label].strip() not in label.values
    return own and bool(texts) and not any(map(_SENTENCE.search, texts))


def _likely(fields: Sequence[_Field]) -> _Field | None:
    """Return the field with the fewest different values that may be labels."""
    likely = [one for one in fields if one.may_be_label]
    return min(likely, key=lambda one: (len(one.values), one.characters), default=None)


def _found(
    path: Path, fields: Sequence[_Field], names: Sequence[str], columns: Sequence[str], label: _Field | None
) -> dict[str, _Field]:
    """The field of each column, the label last."""
    *texts, last = columns
    label = label or _likely(fields)
    others = [one for one in fields if one is not label]
    _check_varied(path, fields, last)
    if label is None or len(others) < len(texts):
        problem = f"no field looks like a {last} (a few short values that repeat) beside {', '.join(texts)}"
        example = ", ".join(f"{column}: {number}" for number, column in enumerate((last, *texts), start=1))
        raise DataError(path, problem, hint=f"name it: {{name: …, file: {path.name}, fields: {{{example}}}}}")
    named = [one for text in texts for one, name in zip(fields, names, strict=True) if name == text]
    longest = sorted(others, key=lambda one: one.characters, reverse=True)[: len(texts)]
    chosen = named if len(named) == len(texts) else [one for one in others if one in longest]
    return {**dict(zip(texts, chosen, strict=True)), last: label}


def _check_varied(path: Path, fields: Sequence[_Field], last: str) -> None:
    """Raise DataError for a table of one label, or of equal texts: nothing can be learnt from them."""
    equal = [one for one in fields if one.rows > 1 and len(one.values) == 1]
    texts = [one for one in fields if one.is_text]
    if texts and all(one in equal for one in texts):
        (text,) = texts[0].values
        problem = f"the texts of all {texts[0].rows:,} rows are equal: '{text:.60}'"
        raise DataError(path, problem, hint="equal texts stay together, so none could be held out")
    if equal and not any(one.may_be_label for one in fields):
        (label,) = equal[0].values
        problem = f"all {equal[0].rows:,} rows have one {last}, '{label:.60}' (field {equal[0].key})"
        raise DataError(path, problem, hint=f"at least two different {last}s are needed")


def _add(fields: Sequence[_Field], row: Sequence[str]) -> None:
    for field, value in zip(fields, row, strict=True):
        field.add(value)
