"""Better translations as `regard serve --suggestions FILE` writes them: JSON lines of q, s, source and target."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import FileName, FileReader, check_columns
from regard.errors import DataError
from regard.text.clean import without_surrogates

_FIELDS = ("q", "s", "source", "target")  # text, better translation, and the codes of their languages
_TRIED = 100  # lines that the format is detected from
_NAMED = 3  # damaged lines whose numbers are reported
_Languages = tuple[str, str]


def holds_suggestions(path: Path) -> bool:
    """Return whether most JSON objects in the first lines have the fields that `regard serve --suggestions` writes.

    Damaged lines, the first one included, do not count.
    """
    try:
        rows = [row for line in islice(read_lines(path), _TRIED) if isinstance(row := _value(line), dict)]
    except DataError:
        return False
    return 2 * sum(_fields(row) is not None for row in rows) > len(rows)


def _value(line: str) -> object:
    """Return the JSON value of a line; None for a damaged one."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _fields(row: object) -> list[str] | None:
    """Return the texts and codes of a line's value; None for one that is damaged, or of another kind."""
    values = [row.get(name) for name in _FIELDS] if isinstance(row, dict) else []
    texts = [without_surrogates(one) for one in values if isinstance(one, str)]
    return texts if len(texts) == len(_FIELDS) else None


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


class SuggestionsReader(FileReader):
    """Corrections of one language pair. Of several corrections of one text the last one counts.

    Lines of other language pairs, the reverse one included, are left out, and damaged ones, as a killed server leaves
    them. Where text and correction have equally many lines, each line is an example.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        *,
        file: FileName,
        languages: Annotated[
            _Languages | None, Doc("Language codes of source and target; null: as in the first line.")
        ] = None,
    ) -> None:
        check_columns(columns, 2, "has a text and its translation", "for a task of two texts")
        super().__init__(columns, file)
        self._languages = languages

    def key(self) -> str:
        return f"suggestions {self._languages}"

    def __iter__(self) -> Iterator[Example]:
        kept = dict[str, tuple[int, str]]()
        languages, others, *_ = self._sorted(kept)
        if not kept:
            found = ", ".join(f"{source}-{target}" for source, target in others) or "nothing"
            problem = f"has no correction from {' to '.join(languages)}" if languages else "has no correction"
            raise DataError(self.path, f"{problem}; it has {found}")
        for source, (number, target) in sorted(kept.items(), key=lambda one: one[1][0]):
            yield Example(number, dict(zip(self.columns, (source, target), strict=True)))

    def summary(self) -> str:
        """Return a message with the numbers of corrections read and of lines left out."""
        kept = dict[str, tuple[int, str]]()
        languages, others, repeated, damaged = self._sorted(kept)
        pair = " → ".join(languages) if languages else ""
        left = [f"{count} of {' → '.join(other)}" for other, count in others.items()]
        left += [f"{repeated} corrected again later"] if repeated else []
        if damaged:
            numbers = ", ".join(map(str, damaged[:_NAMED])) + (" …" if len(damaged) > _NAMED else "")
            left.append(f"{_counted(len(damaged), 'damaged line')} ({numbers})")
        return f"{_counted(len(kept), 'correction')} {pair}" + (f"; left out: {', '.join(left)}" if left else "")

    def _sorted(
        self, kept: dict[str, tuple[int, str]]
    ) -> tuple[_Languages | None, Counter[_Languages], int, list[int]]:
        """Fill `kept`: text → line and last correction.

        Return the languages, the number of lines of each other pair, the number of replaced corrections, and the
        numbers of the damaged lines.
        """
        languages, others, repeated, damaged = self._languages, Counter[_Languages](), 0, list[int]()
        for number, line in enumerate(read_lines(self.path), start=1):
            if not line.strip():
                continue
            if (texts := _fields(_value(line))) is None:
                damaged.append(number)
                continue
            q, s, *codes = texts
            pair = codes[0], codes[1]
            languages = languages or pair
            if pair != tuple(languages):
                others[pair] += 1
                continue
            for source, target in _lines(q, s):
                repeated += kept.pop(source, None) is not None
                kept[source] = number, target
        return languages, others, repeated, damaged


def _lines(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text and of its translation in pairs, or both joined to one line."""
    sides = [[line.strip() for line in text.splitlines() if line.strip()] for text in (source, target)]
    if len(sides[0]) != len(sides[1]):
        sides = [[" ".join(lines)] for lines in sides]
    return zip(*sides, strict=True)
