"""A paragraph of a Word file → text with marks: runs of another format, links, and what is no text at all."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from docx.oxml.ns import qn
from lxml import etree

from regard.documents.document import Document
from regard.documents.files.docx_runs import STYLE, Payload, Piece, readable, write_runs
from regard.documents.marked_text import cut
from regard.documents.passages import Kind, Mark
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import Room
from regard.documents.words import Span

_CONTAINERS = {qn("w:hyperlink"), qn("w:ins"), qn("w:smartTag")}
_BREAKS = {qn("w:tab"), qn("w:br"), qn("w:cr"), qn("w:ptab")}
_NOISE = {qn("w:proofErr"), qn("w:lastRenderedPageBreak")}  # an editor makes them anew
_SILENT = {qn("w:lang"), qn("w:noProof")}  # properties that change nothing to see
_BREAK = "\v"  # ends a sentence; it is not written, the mark beside it is
_NONE = "none"  # the key of a run without properties


class _Format(NamedTuple):
    key: str
    properties: Any  # w:rPr or None


class Paragraph:
    """Reads an element `w:p`; `document` is its text, `write` puts another in its place."""

    def __init__(self, element: Any, language: str | None, room: Room) -> None:
        self.element, self.room = element, room
        self.payloads: list[Payload] = []
        self.marks: list[Mark] = []
        self.text = ""
        self.field: list[Piece] | None = None  # the runs of a field that has begun and not ended
        self.depth = 0
        self.base = _usual(element, room)
        self.format = self.base.key
        self._read(element)
        self._end_field()
        found = cut(self.text, self.marks, self._as_written, language=language, limit=LIMIT, room=room)
        self.document = Document(*found, STYLE)

    def write(self, text: str) -> None:
        """Puts a text with its marks, as `document` writes it, in the place of what was read."""
        write_runs(self.element, text, self.payloads, self.base.properties)

    def _read(self, parent: Any) -> None:
        for child in parent:
            self.room.mark()
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
            self.room.mark()
            if child.tag == qn("w:t") and self.field is None:
                self._to_format(form)
                self.text += readable(child.text or "")
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
        """Ends the format that is open unless it is this one, and begins it; the usual one has no mark."""
        if form.key == self.format:
            return
        if self.format != self.base.key:
            self._mark("close", [])
        if form.key != self.base.key:
            self._mark("open", [Piece(None, form.properties)])
        self.format = form.key

    def _mark(self, kind: Kind, found: list[Piece], *, container: bool = False) -> None:
        name = "" if kind == "point" else "container" if container else "format"
        self.marks.append(Mark(len(self.text), kind, name, len(self.payloads)))
        self.payloads.append(Payload(kind, found, container))

    def _as_written(self, span: Span, marks: Sequence[Mark]) -> str:
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
        if child.tag in _SILENT:
            plain.remove(child)
    return _Format(etree.tostring(plain, method="c14n").decode("utf-8") if len(plain) else _NONE, properties)


def _usual(element: Any, room: Room) -> _Format:
    """The format that most characters have."""
    counts: Counter[str] = Counter()
    formats: dict[str, _Format] = {}
    for run in element.iter(qn("w:r")):
        room.mark()
        form = _format_of(run)
        formats.setdefault(form.key, form)
        counts[form.key] += sum(len(child.text or "") for child in run if child.tag == qn("w:t"))
    return formats[counts.most_common(1)[0][0]] if counts else _Format(_NONE, None)
