"""A glossary: terms of the source, how each is to be translated, where they stand, and whether they were used."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.documents.words import in_word, word_spans
from regard.errors import DataError
from regard.results import TermUse
from regard.text.clean import clean

FORMAT = "source TAB target, or source TAB target|other target; a source alone is copied"

INSTEAD = (" = ", " → ", " ⇒ ", " -> ", " => ")  # which people write for a tab; no term to copy has them


class Entry(NamedTuple):
    """A term and its translations, of which one is to be used."""

    source: str
    targets: tuple[str, ...]


class Occurrence(NamedTuple):
    """A term of a text, at the characters `start` to `end` (exclusive)."""

    entry: Entry
    start: int
    end: int


class Glossary:
    """Terms as they are written: capitals and endings are those of the list.

    >>> [one.entry.targets for one in Glossary([Entry("dog", ("Hund", "Köter"))]).found("A dog, not a dogma.")]
    [('Hund', 'Köter')]
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(dict.fromkeys(entries))
        self._by_first = dict[str, list[Entry]]()  # word → terms that begin with it, the longest first
        for entry in sorted(self.entries, key=lambda one: -len(one.source)):
            first = word_spans(entry.source)[0]
            self._by_first.setdefault(entry.source[first.start : first.end], []).append(entry)

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def read(cls, path: Path) -> "Glossary":
        """A file of FORMAT in UTF-8. Raises DataError for one that cannot be read, else with the line that is wrong."""
        try:
            data = path.read_bytes()
        except OSError as error:
            hint = f"name a file with lines of: {FORMAT}"
            raise DataError(path, f"this glossary cannot be read: {error.strerror}", hint=hint) from error
        lines = list[str]()
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                problem, hint = f"byte {error.start + 1} of the line is not UTF-8", f"iconv -f latin1 -t utf-8 {path}"
                raise DataError(path, problem, line=number, hint=hint) from error
        return cls.of_lines(lines, str(path))

    @classmethod
    def of_lines(cls, lines: Sequence[str], name: str = "glossary") -> "Glossary":
        """Lines of FORMAT; those without a term are passed over. Raises DataError with the line that is wrong."""
        told = [line for line in lines if line.strip()]
        if told and all("\t" not in line and any(sign in line for sign in ",;") for line in told):
            raise DataError(name, "no line has a tab, and every line has a comma or semicolon", line=1, hint=FORMAT)
        known = dict[str, tuple[int, Entry]]()
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            entry = _entry(line, name, number)
            first, other = known.setdefault(entry.source, (number, entry))
            if set(other.targets) != set(entry.targets):
                problem = f"'{entry.source}' is translated otherwise than in line {first}"
                hint = (
                    f"if both are allowed: {entry.source} TAB {'|'.join(dict.fromkeys(other.targets + entry.targets))}"
                )
                raise DataError(name, problem, line=number, hint=hint)
        return cls(entry for _, entry in known.values())

    def lines(self) -> list[str]:
        """What `of_lines` reads."""
        return [f"{entry.source}\t{'|'.join(entry.targets)}" for entry in self.entries]

    def found(self, text: str) -> list[Occurrence]:
        """Whole words, from the left; where several terms begin the longest counts."""
        spans = word_spans(text)
        ends, behind, found = {span.end for span in spans}, 0, list[Occurrence]()
        for start, end in spans:
            if start < behind:
                continue
            for entry in self._by_first.get(text[start:end], ()):
                behind_it = start + len(entry.source)
                if text.startswith(entry.source, start) and behind_it in ends:
                    found.append(Occurrence(entry, start, behind_it))
                    behind = behind_it
                    break
        return found


def uses(found: Sequence[Occurrence], text: str) -> list[TermUse]:
    """Where a translation has the terms of its source, each in a place of its own."""
    taken, where = list[range](), dict[int, range]()
    for number, one in sorted(enumerate(found), key=lambda item: -max(map(len, item[1].entry.targets))):
        free = (place for target in one.entry.targets for place in _places(target, text) if not _taken(place, taken))
        place = next(free, None)
        if place is not None:
            taken.append(place)
            where[number] = place
    return [
        TermUse(
            one.entry.source,
            list(one.entry.targets),
            [one.start, one.end],
            [where[number].start, where[number].stop] if number in where else None,
        )
        for number, one in enumerate(found)
    ]


def _entry(line: str, name: str, number: int) -> Entry:
    """Raises DataError for a line that is none."""
    columns = [column.strip() for column in clean(line).split("\t")]
    if len(columns) > 2:
        raise DataError(name, f"{len(columns)} columns, and a glossary has two", line=number, hint=FORMAT)
    if any(unicodedata.category(character) == "Cc" for column in columns for character in column):
        raise DataError(name, "holds signs that cannot be written: this is no text", line=number, hint=FORMAT)
    source, targets = columns[0], [one.strip() for one in columns[-1].split("|")]
    if len(columns) == 1 and (sign := next((sign for sign in INSTEAD if sign in source), None)):
        raise DataError(name, f"has '{sign.strip()}' where a tab belongs", line=number, hint=FORMAT)
    if len(columns) == 1:
        targets = [source]
    for side, texts in (("source", [source]), ("target", targets)):
        if not all(texts):
            raise DataError(name, f"the {side} is empty", line=number, hint=FORMAT)
    return Entry(source, tuple(dict.fromkeys(targets)))


def _places(target: str, text: str) -> Iterable[range]:
    """Where a target stands in a text as whole words, from the left."""
    start = text.find(target)
    while start >= 0:
        end = start + len(target)
        joined = start > 0 and in_word(text[start - 1]) and in_word(target[0])
        if not joined and not (end < len(text) and in_word(text[end]) and in_word(target[-1])):
            yield range(start, end)
        start = text.find(target, start + 1)


def _taken(place: range, taken: Sequence[range]) -> bool:
    return any(place.start < other.stop and other.start < place.stop for other in taken)
