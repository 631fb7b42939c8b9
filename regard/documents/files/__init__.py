"""Splits texts and files into sentences, and writes files of the same kind with their translations."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Literal

from regard.documents.document import Document
from regard.documents.files.base import FileDocument, FileError
from regard.documents.files.office import OFFICE
from regard.documents.files.opendocument import OPENDOCUMENT
from regard.documents.files.package import package_file
from regard.documents.files.po import po_file
from regard.documents.files.text_and_html import html_file, text_file
from regard.documents.files.xliff import xliff_file
from regard.documents.html_page import html_document, xml_document
from regard.documents.plain_text import plain_document
from regard.documents.sentences import LIMIT
from regard.errors import nearest


def _srt_file(data: bytes, language: str | None) -> FileDocument:
    from regard.documents.files.srt import srt_file  # loads pysubs2

    return srt_file(data, language)


def _markdown_file(data: bytes, language: str | None) -> FileDocument:
    from regard.documents.files.markdown import markdown_file  # loads markdown-it-py

    return markdown_file(data, language)


_KINDS = {**OFFICE, **OPENDOCUMENT}
FILE_READERS: Mapping[str, Callable[[bytes, str | None], FileDocument]] = {
    ".txt": text_file,
    ".srt": _srt_file,
    ".html": html_file,
    ".htm": html_file,
    ".md": _markdown_file,
    ".xlf": xliff_file,
    ".xliff": xliff_file,
    ".sdlxliff": xliff_file,
    ".mxliff": xliff_file,
    ".po": po_file,
    ".pot": po_file,
    **{suffix: partial(package_file, kind=kind) for suffix, kind in _KINDS.items()},
}
SUFFIXES = tuple(FILE_READERS)
PACKAGES = tuple(_KINDS)  # archives, which no terminal shows

__all__ = ["PACKAGES", "SUFFIXES", "FileDocument", "FileError", "file_document", "text_document"]


def file_document(data: bytes, suffix: str, *, language: str | None = None, target: str | None = None) -> FileDocument:
    """Return a file split into sentences to translate.

    `suffix` is one of SUFFIXES, `language` and `target` are the codes of the languages, where they are known. Raises
    FileError for any other suffix and for a file that is broken, unpacks to too many bytes, has an unknown encoding or
    names other languages; TooLarge above the size budget.
    """
    if suffix.lower() not in FILE_READERS:
        raise FileError(f"a file of the kind '{suffix}' cannot be translated; {nearest(suffix, SUFFIXES)}")
    found = FILE_READERS[suffix.lower()](data, language)
    found.check_languages((language, target))
    return found


def text_document(
    text: str,
    kind: Literal["text", "html", "xml"] = "text",
    *,
    language: str | None = None,
    limit: int = LIMIT,
    untouched: Collection[str] = (),
) -> Document:
    """Return a text split into sentences to translate.

    `language` is the code of the text's language, if known. Sentences over `limit` characters are split.
    `untouched`: names of elements of HTML or XML that are kept with their content.
    """
    if kind == "text":
        return plain_document(text, language=language, limit=limit)
    make = html_document if kind == "html" else xml_document
    return make(text, language=language, limit=limit, untouched=untouched)
