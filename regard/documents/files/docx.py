"""Word files: all paragraphs of body, tables, text boxes, headers, footers and notes, with their formatting."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

import docx
from babel.core import get_global
from docx.document import Document as WordDocument
from docx.opc.constants import CONTENT_TYPE
from docx.opc.exceptions import OpcError
from docx.opc.part import XmlPart
from docx.oxml.ns import qn
from lxml.etree import LxmlError

from regard.compat import read_docx_part_as_xml
from regard.documents.files.base import FileDocument, FileError, file_budget, join_documents, rebuild_each
from regard.documents.files.docx_paragraphs import Paragraph
from regard.results import Prediction

for _kind in (CONTENT_TYPE.WML_FOOTNOTES, CONTENT_TYPE.WML_ENDNOTES):  # python-docx opens these as plain bytes
    read_docx_part_as_xml(_kind)
_EASTERN = frozenset({"zh", "ja", "ko"})  # Word stores the language of these scripts separately
ENTRIES = 2_000
_UNPACKED = 64 << 20  # bytes in all
_RATIO = 200  # most unpacked bytes per packed byte; text has 10, zeros have 1,000
_BROKEN = (BadZipFile, OSError, ValueError, zlib.error)  # what zipfile raises, and python-docx too
_SMALL = 1 << 20  # bytes; smaller entries may have any ratio


def docx_file(data: bytes, language: str | None) -> FileDocument:
    """Read a Word file. Fields, drawings and note marks are kept; words take the formatting of their source words."""
    check_archive(data)
    with _depth_limit():
        paragraphs = _paragraphs(_opened(data), language)

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        with _depth_limit():
            opened = _opened(data)  # again, so that `rebuild` can be called twice
            fresh = _paragraphs(opened, language)
            texts = rebuild_each([paragraph.document for paragraph in fresh], predictions, pair)
            for paragraph, text in zip(fresh, texts, strict=True):
                paragraph.write(text)
            if pair is not None:
                _relabel(opened, *pair)
            written = BytesIO()
            opened.save(written)
            return written.getvalue()

    return join_documents([paragraph.document for paragraph in paragraphs], rebuild)


@contextmanager
def _depth_limit() -> Iterator[None]:
    """Turn RecursionError into FileError: python-docx follows references between parts recursively."""
    try:
        yield
    except RecursionError as error:
        raise FileError("the parts of the file lead too deep into each other") from error


def _opened(data: bytes) -> WordDocument:
    try:
        return docx.Document(BytesIO(data))
    except (OpcError, LxmlError, KeyError, AttributeError, TypeError, *_BROKEN) as error:
        raise FileError("the file is broken or is not a Word document") from error


def _parts(opened: WordDocument) -> list[XmlPart]:
    return [part for part in opened.part.package.iter_parts() if isinstance(part, XmlPart)]


def _relabel(opened: WordDocument, source: str, target: str) -> None:
    """Change language labels from source to target, for Word's spelling check."""
    likely, language = get_global("likely_subtags"), target.partition("-")[0]
    whole = likely.get(target.replace("-", "_")) or likely.get(language)
    name = f"{language}-{whole.rpartition('_')[2]}" if whole else target  # Word needs a country
    for part in _parts(opened):
        for element in part.element.iter(qn("w:lang")):
            if element.get(qn("w:val"), "").lower().partition("-")[0] == source.partition("-")[0]:
                element.set(qn("w:val"), name)
                if language in _EASTERN:
                    element.set(qn("w:eastAsia"), name)


def _paragraphs(opened: WordDocument, language: str | None) -> list[Paragraph]:
    parts = _parts(opened)
    budget, elements = file_budget(), list[Any]()
    for part in parts:
        for element in part.element.iter(qn("w:p")):
            budget.count_mark()
            elements.append(element)
    found = [Paragraph(element, language, budget) for element in elements]
    return [paragraph for paragraph in found if paragraph.document.texts]


def check_archive(data: bytes) -> None:
    """Raise FileError unless the data are a zip archive with safe names and a limited unpacked size."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > ENTRIES:
                raise FileError(f"the file has more than {ENTRIES} parts")
            if sum(entry.file_size for entry in entries) > _UNPACKED:
                raise FileError(f"the file unpacks to more than {_UNPACKED >> 20} MiB")
            for entry in entries:
                _check_entry(archive, entry)
    except (LargeZipFile, NotImplementedError, EOFError, RuntimeError, *_BROKEN) as error:
        raise FileError("the file is broken or is not what its name says") from error


def _check_entry(archive: ZipFile, entry: ZipInfo) -> None:
    name = entry.filename.replace("\\", "/")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise FileError("the file has a part whose name leads out of it")
    if entry.flag_bits & 0x1:
        raise FileError("the file is encrypted")
    if entry.file_size > _SMALL and entry.file_size > _RATIO * max(1, entry.compress_size):
        raise FileError("the file is packed too tightly to be a document")
    if name.endswith((".xml", ".rels")):
        content = archive.read(entry)  # never more bytes than the entry declares
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise FileError("the file declares entities of its own")
