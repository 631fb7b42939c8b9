"""Reads a paragraph of a Word file as text with marks: format changes, links, and elements that are not text."""

import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from lxml import etree

from regard.documents.document import Document
from regard.documents.files.xml_source import xml_safe
from regard.documents.marked_text import split_text
from regard.documents.passages import Mark, MarkKind
from regard.documents.rendering import Style
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import SizeBudget
from regard.documents.text_spans import TextSpan

_CONTAINERS = {qn("w:hyperlink"), qn("w:ins"), qn("w:smartTag")}
_BREAKS = {qn("w:tab"), qn("w:br"), qn("w:cr"), qn("w:ptab")}
_NOISE = {qn("w:proofErr"), qn("w:lastRenderedPageBreak")}  # Word creates them again
_INVISIBLE = {qn("w:lang"), qn("w:noProof")}  # properties without a visible effect
_BREAK = "\v"  # ends a sentence; only the mark beside it is written
_NONE = "none"  # the key of a run without properties
_ENCODED = re.compile("\ufdd0([0-9]{1,9}+)\ufdd1")  # a mark within a text; these are never characters in Unicode


class Piece(NamedTuple):
    """An element to write; one from inside a run gets its own run with the same properties."""

    element: Any
    properties: Any = None
    in_run: bool = False


class Payload(NamedTuple):
    """The content of a mark: elements, or the start or end of a container or format."""

    kind: MarkKind
    pieces: list[Piece]
    container: bool = False


def _encoded(number: int) -> str:
    return f"\ufdd0{number}\ufdd1"


STYLE = Style(xml_safe, _encoded)  # text and marks as one string


def write_runs(paragraph: Any, text: str, payloads: Sequence[Payload], properties: Any) -> None:
    """Replace a paragraph's content, except its properties; text outside format marks gets run `properties`."""
    for child in list(paragraph):
        if child.tag != qn("w:pPr"):
            paragraph.remove(child)
    containers, formats = [paragraph], [properties]
    for place, part in enumerate(_ENCODED.split(text)):
        if place % 2:
            _write_mark(payloads[int(part)], containers, formats)
        elif part:
            written = OxmlElement("w:t")
            written.text = part
            written.set(qn("xml:space"), "preserve")
            containers[-1].append(_run(written, formats[-1]))


def _write_mark(payload: Payload, containers: list[Any], formats: list[Any]) -> None:
    if payload.kind == "point":
        for element, properties, in_run in payload.pieces:
            containers[-1].append(_run(element, properties) if in_run else element)
    elif payload.kind == "close":
        (containers if payload.container else formats).pop()
    elif payload.container:
        container = payload.pieces[0].element
        for child in list(container):
            container.remove(child)
        containers[-1].append(container)
        containers.append(container)
    else:
        formats.append(payload.pieces[0].properties)


def _run(child: Any, properties: Any) -> Any:
    run = OxmlElement("w:r")
    if properties is not None:
        run.append(deepcopy(properties))
    run.append(child)
    return run


class _Format(NamedTuple):
    key: str
    properties: Any  # w:rPr or None


class Paragraph:
    """Reads an element `w:p`; `document` is its text, `write` replaces that."""

    def __init__(self, element: Any, language: str | None, budget: SizeBudget) -> None:
        self.element, self.budget = element, budget
        self.payloads: list[Payload] = []
        self.marks: list[Mark] = []
        self.text = ""
        self.field: list[Piece] | None = None  # the runs of an open field
        self.depth = 0
        self.base = _main_format(element, budget)
        self.format = self.base.key
        self._read(element)
        self._end_field()
        found = split_text(self.text, self.marks, self._as_written, language=language, limit=LIMIT, budget=budget)
        self.document = Document(*found, STYLE)

    def write(self, text: str) -> None:
        """Replace the paragraph's content with a text with marks, as `document` renders it."""
        write_runs(self.element, text, self.payloads, self.base.properties)

    def _read(self, parent: Any) -> None:
        for child in parent:
            self.budget.count_mark()
            if child.tag == qn("w:r"):
                self._run(child)
            elif child.tag in _CONTAINERS and self.field is None:
                self._to_format(self.base)
                self._mark("open", [Piece(child)], container=True)
                self._read(child)
                self._mark("close", [], container=True)
            elif child.tag != qn("w:pPr") and child.tag not in _NOISE:
                self._point([Piece(child)])
        self._to_format(self.base)

    def _run(self, run: Any) -> None:
        form = _format_of(run)
        for child in run:
            self.budget.count_mark()
            if child.tag == qn("w:t") and self.field is None:
                self._to_format(form)
                self.text += xml_safe(child.text or "")
            elif child.tag in _BREAKS and self.field is None:
                self._point([Piece(child, form.properties, in_run=True)])
                self.text += _BREAK
            elif child.tag != qn("w:rPr") and child.tag not in _NOISE:
                self._special(child, Piece(child, form.properties, in_run=True))

    def _special(self, child: Any, piece: Piece) -> None:
        kind = child.get(qn("w:fldCharType")) if child.tag == qn("w:fldChar") else None
        if kind == "begin":
            self.field, self.depth = self.field or [], self.depth + 1
        self._point([piece])
        if kind == "end" and self.field is not None:
            self.depth -= 1
            if not self.depth:
                self._end_field()

    def _end_field(self) -> None:
        found, self.field, self.depth = self.field, None, 0
        if found:
            self._point(found)

    def _point(self, found: list[Piece]) -> None:
        if self.field is not None:
            self.field += found
        else:
            self._mark("point", found)

    def _to_format(self, form: _Format) -> None:
        """Switch to a format: close the open one and open this one; the main format has no marks."""
        if form.key == self.format:
            return
        if self.format != self.base.key:
            self._mark("close", [])
        if form.key != self.base.key:
            self._mark("open", [Piece(None, form.properties)])
        self.format = form.key

    def _mark(self, kind: MarkKind, found: list[Piece], *, container: bool = False) -> None:
        name = "" if kind == "point" else "container" if container else "format"
        self.marks.append(Mark(len(self.text), kind, name, len(self.payloads)))
        self.payloads.append(Payload(kind, found, container))

    def _as_written(self, span: TextSpan, marks: Sequence[Mark]) -> str:
        parts, cursor = list[str](), span.start
        for mark in marks:
            parts += [STYLE.text(self.text[cursor : mark.place]), STYLE.mark(mark.number)]
            cursor = mark.place
        return "".join([*parts, STYLE.text(self.text[cursor : span.end])])


def _format_of(run: Any) -> _Format:
    properties = run.find(qn("w:rPr"))
    if properties is None:
        return _Format(_NONE, None)
    plain = deepcopy(properties)
    for child in list(plain):
        if child.tag in _INVISIBLE:
            plain.remove(child)
    return _Format(etree.tostring(plain, method="c14n").decode("utf-8") if len(plain) else _NONE, properties)


def _main_format(element: Any, budget: SizeBudget) -> _Format:
    """Return the format of most characters."""
    counts: Counter[str] = Counter()
    formats: dict[str, _Format] = {}
    for run in element.iter(qn("w:r")):
        budget.count_mark()
        form = _format_of(run)
        formats.setdefault(form.key, form)
        counts[form.key] += sum(len(child.text or "") for child in run if child.tag == qn("w:t"))
    return formats[counts.most_common(1)[0][0]] if counts else _Format(_NONE, None)
