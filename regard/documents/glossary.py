"""A glossary: terms of the source, how each is to be translated, where they stand, and whether they were used."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.readers.lines import encoding_hint
from regard.documents.glossary_formats import LINE_FORMAT, LanguagePair, glossary_rows
from regard.documents.text_spans import in_word, word_spans
from regard.errors import DataError
from regard.results import Prediction, TermReport, TermUse
from regard.text.clean import clean
from regard.text.stems import same_stem

LARGEST = 2**25  # bytes of a file
_SHOWN = 3  # translations of a term in a warning


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
        self._after = dict[tuple[int, str], int]()  # a trie: node and word, with the gap before it, → node; the root: 0
        self._ending = dict[int, Entry]()  # by node
        for entry in self.entries:
            node = 0
            for word in _words(entry.source):
                node = self._after.setdefault((node, word), len(self._after) + 1)
            self._ending.setdefault(node, entry)

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def read(cls, path: Path, languages: LanguagePair = (None, None)) -> "Glossary":
        """A file in UTF-8 of any format. Raises DataError for one that cannot be read, with the line that is wrong."""
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            hint = f"name a file with lines of: {LINE_FORMAT}"
            raise DataError(path, f"this glossary cannot be read: {error.strerror}", hint=hint) from error
        if len(data) > LARGEST:
            raise DataError(path, f"more than {LARGEST >> 20} MiB are not a glossary")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            start, line = data.rfind(b"\n", 0, error.start) + 1, data.count(b"\n", 0, error.start) + 1
            hint = encoding_hint(path, data[error.start : error.start + 2], error.reason, data)
            problem = f"byte {error.start - start + 1} of the line is not UTF-8"
            raise DataError(path, problem, line=line, hint=hint) from error
        return cls.of_text(text, str(path), languages)

    @classmethod
    def of_lines(cls, lines: Sequence[str], name: str = "glossary") -> "Glossary":
        """Read LINE_FORMAT; lines without a term are passed over. Raises DataError with the line that is wrong."""
        return cls.of_text("\n".join(lines), name)

    @classmethod
    def of_text(cls, text: str, name: str = "glossary", languages: LanguagePair = (None, None)) -> "Glossary":
        """Read LINE_FORMAT, or `languages` of TBX. Raises DataError with the line that is wrong."""
        known = dict[str, tuple[int, Entry]]()
        for number, source, targets in glossary_rows(clean(text), name, languages):
            entry = Entry(source, targets)
            first, other = known.setdefault(entry.source, (number, entry))
            both = tuple(dict.fromkeys(other.targets + entry.targets))
            if set(other.targets) != set(entry.targets):
                problem = f"'{entry.source}' is translated otherwise than in line {first}"
                hint = f"if both are allowed: {entry.source} TAB {'|'.join(both)}"
                raise DataError(name, problem, line=number, hint=hint)
        return cls(entry for _, entry in known.values())

    def lines(self) -> list[str]:
        """Terms that `of_lines` reads."""
        return [f"{entry.source}\t{'|'.join(entry.targets)}" for entry in self.entries]

    def found(self, text: str) -> list[Occurrence]:
        """Whole words, from the left; where several terms begin the longest counts."""
        found = list[Occurrence]()
        for matches in self._matches(text):
            if not found or matches[0].start >= found[-1].end:
                found.append(matches[-1])
        return found

    def within(self, texts: Iterable[str]) -> "Glossary":
        """The terms that stand in any of these texts, which `found` finds in the same places."""
        standing = {
            match.entry
            for text in texts
            for each in dict.fromkeys((text, clean(text)))
            for matches in self._matches(each)
            for match in matches
        }
        return Glossary(entry for entry in self.entries if entry in standing)

    def _matches(self, text: str) -> Iterator[list[Occurrence]]:
        """The terms that begin at each word, the shortest first; words where none begins are left out."""
        spans = word_spans(text)
        words = [text[0 if not place else spans[place - 1].end : span.end] for place, span in enumerate(spans)]
        for first, (start, end) in enumerate(spans):
            node, place, matches = self._after.get((0, text[start:end])), first, list[Occurrence]()
            while node is not None:
                if (entry := self._ending.get(node)) is not None:
                    matches.append(Occurrence(entry, start, spans[place].end))
                place += 1
                node = self._after.get((node, words[place])) if place < len(words) else None
            if matches:
                yield matches


def uses(found: Sequence[Occurrence], text: str, *, inflected: bool = False) -> list[TermUse]:
    """Where a translation has the terms of its source, each in a place of its own.

    `inflected`: words with other endings count for a term that the text lacks.
    """
    taken, where = bytearray(len(text)), dict[int, range]()
    places = dict[str, Iterator[range]]()  # of each target those not tried yet: one that was taken stays taken
    for number, one in sorted(enumerate(found), key=lambda item: -max(map(len, item[1].entry.targets))):
        left = (places.setdefault(target, _places(target, text)) for target in one.entry.targets)
        place = next((place for each in left for place in each if not any(taken[place.start : place.stop])), None)
        if place is not None:
            taken[place.start : place.stop] = b"\1" * len(place)
            where[number] = place
    for number, one in enumerate(found if inflected else ()):
        if number not in where and (place := _other_form(one.entry.targets, text, taken)) is not None:
            taken[place.start : place.stop] = b"\1" * len(place)
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


def missing_terms(used: Sequence[TermUse]) -> list[str]:
    """Return a warning for each term that a translation lacks."""
    missing = [(one.source, "' or '".join(one.targets[:_SHOWN])) for one in used if not one.used]
    return [f"'{source}' is not translated as '{allowed}'" for source, allowed in missing]


def with_stored_terms(predictions: Iterable[Prediction], glossary: Glossary) -> list[Prediction]:
    """Return the predictions, each stored translation with its use of a glossary, and a warning of missing terms."""

    def checked(one: Any) -> Any:
        if parts := getattr(one, "parts", None):
            return replace(one, parts=[*map(checked, parts)])
        if not one.reused or not (found := glossary.found(one.source)):
            return one
        used = uses(found, one.text)
        return replace(one, terms=TermReport(used)).warned("; ".join(missing_terms(used)))

    return [*map(checked, predictions)]


def _words(source: str) -> list[str]:
    """The words of a term, each but the first with what stands between it and the one before."""
    first, *others = source.split(" ")
    if source.isascii() and first.isalnum() and all(map(str.isalnum, others)):  # as below, and quick
        return [first, *(f" {word}" for word in others)]
    spans = word_spans(source)
    return [source[spans[place - 1].end if place else span.start : span.end] for place, span in enumerate(spans)]


def _other_form(targets: Sequence[str], text: str, taken: bytearray) -> range | None:
    """Return the first free place of words with the stems of a target; None where there is none."""
    spans = word_spans(text)
    for target in targets:
        count = len(word_spans(target))
        for first, last in zip(spans, spans[count - 1 :], strict=False) if count else ():
            if not any(taken[first.start : last.end]) and same_stem(text[first.start : last.end], target):
                return range(first.start, last.end)
    return None


def _places(target: str, text: str) -> Iterator[range]:
    """Where a target stands in a text as whole words, from the left."""
    start = text.find(target)
    while start >= 0:
        end = start + len(target)
        joined = start > 0 and in_word(text[start - 1]) and in_word(target[0])
        if not joined and not (end < len(text) and in_word(text[end]) and in_word(target[-1])):
            yield range(start, end)
        start = text.find(target, start + 1)
