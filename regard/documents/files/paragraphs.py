"""Paragraphs in parts of office files, as text with marks: format changes, links, and elements that are not text."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from regard.documents.document import Document
from regard.documents.files.xml_source import XmlToken, characters, tag_name, xml_escaped, xml_tokens
from regard.documents.marked_text import MarkedText
from regard.documents.passages import MarkKind
from regard.documents.rendering import Style
from regard.documents.size_budget import SizeBudget

_BREAK = ("\v", "")  # ends a sentence; only the mark beside it is written
_MARK = re.compile("\ufdd0([0-9]{1,9}+)\ufdd1")  # within a text; these are never characters in Unicode
_INNER = re.compile("\ufdd2([0-9]{1,9}+)\ufdd3")  # a paragraph within an element of another one
_PRIVATE = re.compile("[\ufdd0-\ufdd3]")
_EMPTY = re.compile(r"<[\w:]+\s*/>|<[\w:]+>\s*</[\w:]+>")


class Dialect(NamedTuple):
    """The elements of a family of formats, with the prefixes that `namespaces` gives them."""

    namespaces: Mapping[str, str]
    paragraphs: frozenset[str]
    roles: Mapping[str, Literal["container", "break", "space", "noise", "head", "tail"]]  # of elements in paragraphs
    invisible: re.Pattern[str]  # of the properties of a run: without a visible effect
    runs: Mapping[str, str] = {}  # prefix of paragraphs whose text is in runs → attributes of its text elements
    lines: frozenset[str] = frozenset()  # paragraphs in which line ends count
    excluded: Mapping[str, Mapping[str, str]] = {}  # elements whose text stays: all, or by the values of attributes


class _Item(NamedTuple):
    """A piece of a paragraph: text, or what stays as it is written."""

    kind: Literal["text", "point", "break", "open", "close", "format", "plain"]
    source: str = ""  # of a format: the properties
    characters: tuple[tuple[str, str], ...] = ()


class Paragraph:
    """Reads what an element of a dialect contains; `document` is its text, once it is closed."""

    def __init__(self, tag: XmlToken, dialect: Dialect) -> None:
        self.name, self.dialect = tag.name, dialect
        self.family, _, local = tag.name.rpartition(":")
        self.prefix = tag_name(tag.source).removesuffix(local)
        self.has_runs = self.family in dialect.runs
        self.sources = list[str]()
        self.items = list[_Item]()
        self.head, self.tail = list[str](), list[str]()  # what stays first and last
        self.whole: list[str] | None = None  # an element that is kept, until it ends
        self.depth, self.first = 0, tag  # of its tags; the first
        self.run: str | None = None  # properties of the run that is open
        self.in_text = not self.has_runs
        self.bare = True  # no run yet
        self.field: list[str] | None = None  # the elements of an open field
        self.fields = 0

    def take(self, token: XmlToken) -> None:
        """Read the next token."""
        self.sources.append(token.source)
        if self.whole is not None:
            self.whole.append(token.source)
            self.depth += (token.kind == "open") - (token.kind == "close")
            if not self.depth:
                self._kept("".join(self.whole))
        elif token.kind == "text":
            if self.in_text:
                self.items.append(_Item("text", self.run or "", tuple(characters(token))))
        elif self.has_runs and token.name == f"{self.family}:r":
            self.run, self.bare = "" if token.kind == "open" else None, False
        elif self.has_runs and token.name == f"{self.family}:t" and self.field is None:
            self.in_text = token.kind == "open"
        elif self.dialect.roles.get(token.name) == "container" and self.field is None and token.kind != "empty":
            self.items.append(_Item("open" if token.kind == "open" else "close", token.source))
        elif token.kind in ("open", "empty"):
            self.whole, self.depth, self.first = [token.source], 1, token
            if token.kind == "empty":
                self._kept(token.source)

    def take_inner(self, source: str) -> None:
        """Read a part of what contains another paragraph."""
        self.sources.append(source)
        if self.whole is not None:
            self.whole.append(source)
        else:
            self.items.append(_Item("point", source))

    def _kept(self, source: str) -> None:
        """End an element that is kept."""
        self.whole, role = None, self.dialect.roles.get(self.first.name, "point")
        if self.run is not None and self.first.name == f"{self.family}:rPr":
            self.run = source
            return
        if self.run is not None:
            source = f"<{self.prefix}r>{self.run}{source}</{self.prefix}r>"
        kind = self.first.attributes.get(f"{self.family}:fldCharType")
        if kind == "begin":
            self.field, self.fields = self.field or [], self.fields + 1
        if self.field is not None:
            self.field.append(source)
            self.fields -= kind == "end"
            if not self.fields:
                self._end_field()
        elif role == "head":
            self.head.append(source)
        elif role == "tail":
            self.tail.append(source)
        elif role == "space":
            self.items.append(_Item("text", self.run or "", ((" ", source),)))
        elif role != "noise":
            self.items.append(_Item("break" if role == "break" else "point", source))

    def _end_field(self) -> None:
        if self.field:
            self.items.append(_Item("point", "".join(self.field)))
        self.field, self.fields = None, 0

    def close(self, language: str | None, budget: SizeBudget) -> None:
        """End the paragraph: `document` and `text` are what it contains."""
        self._end_field()
        self.text = "".join(one for item in self.items for one, _ in item.characters)
        counts, formats = Counter[str](), dict[str, str]()
        for item in self.items:
            if item.kind == "text":
                counts[self._key(item.source)] += len(item.characters)
                formats.setdefault(self._key(item.source), item.source)
        main = counts.most_common(1)[0][0] if counts else ""
        self.properties, self.payloads, marked = formats.get(main, ""), list[_Item](), MarkedText()
        self._mark_all(marked, main)
        found = marked.split(language=language, budget=budget, lines=self.name in self.dialect.lines)
        self.document = Document(*found, Style(xml_escaped, marked.sources.__getitem__))

    def _key(self, properties: str) -> str:
        """Return what distinguishes a format: properties that are visible."""
        visible = self.dialect.invisible.sub("", properties)
        return "" if _EMPTY.fullmatch(visible) else visible

    def _mark_all(self, marked: MarkedText, main: str) -> None:
        """Collect the items as a text with marks; text in the main format has none."""
        current = main

        def mark(kind: MarkKind, name: str, item: _Item) -> None:
            marked.mark(kind, name, f"\ufdd0{len(self.payloads)}\ufdd1")
            self.payloads.append(item)

        def to_format(item: _Item) -> None:
            nonlocal current
            key = self._key(item.source) if item.kind == "text" else main
            if current not in {key, main}:
                mark("close", "format", _Item("plain"))
            if key not in {current, main}:
                mark("open", "format", _Item("format", item.source))
            current = key

        for item in self.items:
            if item.kind == "text":
                to_format(item)
                marked.add(item.characters)
            elif item.kind in ("open", "close"):
                to_format(item)
                mark("open" if item.kind == "open" else "close", "container", item)
            else:
                mark("point", "", item)
                marked.add([_BREAK] if item.kind == "break" else ())
        to_format(_Item("point"))

    def written(self, text: str) -> str:
        """Return the content of the paragraph with another text with marks, as `document` renders it."""
        parts, formats = [*self.head], [self.properties]
        for place, part in enumerate(_MARK.split(text)):
            if place % 2:
                item = self.payloads[int(part)]
                if item.kind == "format":
                    formats.append(item.source)
                elif item.kind == "plain":
                    formats.pop()
                else:
                    parts.append(item.source)
            elif part:
                parts.append(self._in_run(part, formats[-1]))
        return "".join([*parts, *self.tail])

    def _in_run(self, text: str, properties: str) -> str:
        if not self.has_runs:
            return text
        prefix, given = self.prefix, self.dialect.runs[self.family]
        written = f"<{prefix}t{given}>{text}</{prefix}t>"
        return written if self.bare else f"<{prefix}r>{properties}{written}</{prefix}r>"


class XmlPart:
    """Reads a part with paragraphs; `paragraphs` are those to translate, inner ones before those around them."""

    def __init__(
        self, text: str, dialect: Dialect, language: str | None, budget: SizeBudget, kept: frozenset[str]
    ) -> None:
        self.paragraphs, self.language, self.budget, self.kept = list[Paragraph](), language, budget, kept
        self.pieces = list[str]()
        self.stack = list[Paragraph]()
        blocked = 0  # depth in an element whose text stays
        for token in xml_tokens(_PRIVATE.sub("", text), dialect.namespaces, budget):
            if self.stack or token.name in dialect.paragraphs:
                self.budget.count_mark()
            if blocked or _excludes(dialect, token):
                blocked += (token.kind == "open") - (token.kind == "close")
                self._add(token.source)
            elif token.name in dialect.paragraphs and token.kind == "open":
                self._add(token.source)
                self.stack.append(Paragraph(token, dialect))
            elif token.name in dialect.paragraphs and token.kind == "close":
                self._close()
                self._add(token.source)
            elif self.stack:
                self.stack[-1].take(token)
            else:
                self.pieces.append(token.source)

    def _add(self, source: str) -> None:
        if self.stack:
            self.stack[-1].take_inner(source)
        else:
            self.pieces.append(source)

    def _close(self) -> None:
        done = self.stack.pop()
        done.close(self.language, self.budget)
        if done.document.texts and done.text not in self.kept:
            self._add(f"\ufdd2{len(self.paragraphs)}\ufdd3")
            self.paragraphs.append(done)
        else:
            self._add("".join(done.sources))

    def written(self, texts: Iterator[str]) -> str:
        """Return the part with the next text for each paragraph."""
        done = list[str]()

        def filled(source: str) -> str:
            return _INNER.sub(lambda found: done[int(found[1])], source)

        for paragraph in self.paragraphs:
            done.append(filled(paragraph.written(next(texts))))
        return filled("".join(self.pieces))


def _excludes(dialect: Dialect, token: XmlToken) -> bool:
    """Return whether an opening tag begins an element whose text stays."""
    rules = dialect.excluded.get(token.name) if token.kind == "open" else None
    if rules is None:
        return False
    given = token.attributes
    return not rules or any(name in given and re.fullmatch(pattern, given[name]) for name, pattern in rules.items())
