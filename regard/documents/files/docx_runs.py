"""Writes text with marks as the runs of a Word paragraph."""

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from regard.documents.passages import MarkKind
from regard.documents.rendering import Style

_ENCODED = re.compile("\ufdd0([0-9]{1,9}+)\ufdd1")  # a mark within a text; these are never characters in Unicode
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0\ufdd1\ufffe\uffff]")


class Piece(NamedTuple):
    """An element to write; one from inside a run gets its own run with the same properties."""

    element: Any
    properties: Any = None
    in_run: bool = False


class Payload(NamedTuple):
    """What a mark stands for: elements, or the start or end of a container or format."""

    kind: MarkKind
    pieces: list[Piece]
    container: bool = False


def xml_safe(text: str) -> str:
    """Return the text without characters that XML forbids or that encode marks."""
    return _NOT_XML.sub("", text)


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
