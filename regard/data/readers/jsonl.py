"""JSON lines: one object a line."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, FileReader, TableRows
from regard.data.readers.tables import FIRST_ROWS
from regard.errors import DataError, PartError, nearest
from regard.text.clean import without_surrogates
from regard.text.label_sets import NO_LABELS, SEVERAL_LABELS, write_labels

_CODES = {"source", "target"}
_CORRECTION = {"q", "s", *_CODES}  # the fields of a line that `regard serve --suggestions` writes


class JsonlReader(FileReader):
    """`fields` gives the key of each column; by default its own name. A number is read as text.

    Half of a surrogate pair ("\\ud800") becomes U+FFFD. Of the column `labels` an array of strings is several labels.
    """

    answers = ("label", "labels", "number")

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        fields: Annotated[
            Mapping[str, str] | None, Doc("JSON key of each column; null: the name of the column.")
        ] = None,
    ) -> None:
        fields = {column: column for column in columns} if fields is None else fields
        if set(fields) != set(columns):
            wanted = ", ".join(columns)
            raise PartError(f"is {dict(fields)}", f"expected a name for each of {wanted}", setting="fields")
        super().__init__(columns, file)
        self._names = {column: fields[column] for column in columns}

    def key(self) -> str:
        return f"jsonl {self._names}"

    def __iter__(self) -> Iterator[Example]:
        for number, line in enumerate(read_lines(self.path), start=1):
            if line.strip():
                yield Example(number, self._texts(self.path, number, line))
            else:  # an empty line is an empty example
                yield Example(number, dict.fromkeys(self.columns, ""))

    @classmethod
    def first_rows(cls, path: Path) -> TableRows:
        """Return the values of JSON objects, named by the first; other JSON values are refused when they are read."""
        names = tuple(next(_objects(path), {}))
        if not names:
            raise DataError(path, "holds no JSON object", hint="one object a line, no array around them")
        return TableRows(
            names, ([without_surrogates(_as_text(row.get(name, ""))) for name in names] for row in _objects(path))
        )

    def _texts(self, path: Path, number: int, line: str) -> dict[str, str]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(path, f"not JSON: {error}", line=number) from error
        if not isinstance(row, dict):
            problem = f"expected a JSON object, not {_kind(row)}"
            raise DataError(path, problem, line=number, hint="one object a line, no array around them")
        if row.keys() >= _CORRECTION and {*self._names.values()} == _CODES:
            hint = "the texts are q and s: regard teach RUN FILE"
            raise DataError(path, "source and target are codes of languages here", line=number, hint=hint)
        texts = {}
        for column, name in self._names.items():
            if name not in row:
                raise DataError(path, f"the object has no '{name}'", line=number, hint=nearest(name, row))
            value = row[name]
            if isinstance(value, (int, float)) and not isinstance(value, bool):  # a label is often a number
                value = repr(value)
            if column == SEVERAL_LABELS and isinstance(value, list):
                value = self._labels(path, number, name, value)
            if not isinstance(value, str):
                hint = (
                    "several labels a text: task=multi_label" if column == "label" and isinstance(value, list) else ""
                )
                raise DataError(path, f"'{name}' must be a string, not {_kind(value)}", line=number, hint=hint)
            texts[column] = without_surrogates(value)
        return texts

    def _labels(self, path: Path, number: int, name: str, values: list[Any]) -> str:
        """Return an array of labels as one text."""
        wrong = next((one for one in values if not isinstance(one, str)), None)
        if wrong is not None:
            raise DataError(path, f"'{name}' must be an array of strings, and has {_kind(wrong)}", line=number)
        if parted := [one for one in values if "," in one]:
            problem = f"the label '{parted[0]:.60}' has a comma, which separates labels"
            raise DataError(path, problem, line=number, hint="write it without")
        if values != [NO_LABELS] and (none := [one for one in values if one.strip() in ("", NO_LABELS)]):
            problem = f"'{none[0]:.60}' of '{name}' cannot be a label, for it says that there is none"
            raise DataError(path, problem, line=number, hint="leave it out, or give the label another name")
        return write_labels(values)


def _as_text(value: object) -> str:
    """Return a value as text, an array of strings as several labels."""
    labels = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return write_labels(cast(list[str], value)) if labels else str(value)


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of the first lines."""
    for line in islice(filter(str.strip, read_lines(path)), FIRST_ROWS):
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict):
                yield row


def _kind(value: object) -> str:
    """Return the kind of a value in JSON's terms."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
