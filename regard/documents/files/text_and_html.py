"""Text files and HTML pages."""

import re
from collections.abc import Sequence

from regard.documents.document import Document
from regard.documents.files.base import FileDocument, decode_text, encode_text, file_budget, join_documents
from regard.documents.html_page import html_document
from regard.documents.plain_text import plain_document
from regard.results import Prediction

_CHARSET = re.compile(r"(<meta[^>]{1,200}?charset\s{0,9}=[\s\"']{0,9})([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_NONE = re.compile("(?!)")  # a text declares no encoding
_HEAD = 1_024  # bytes in which a page must declare its encoding


def text_file(data: bytes, language: str | None) -> FileDocument:
    """Read a text file; its translation has the same encoding."""
    text, encoding = decode_text(data)
    return _file(plain_document(text, language=language, budget=file_budget()), encoding, _NONE)


def html_file(data: bytes, language: str | None) -> FileDocument:
    """Read a page; its translation has the same encoding, other characters become references."""
    named = _CHARSET.search(data[:_HEAD].decode("latin-1"))
    text, encoding = decode_text(data, named[2] if named else None)
    return _file(html_document(text, language=language, budget=file_budget()), encoding, _CHARSET)


def _file(document: Document, encoding: str, declaration: re.Pattern[str]) -> FileDocument:
    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        return encode_text(document.rebuild(predictions, pair), encoding, declaration, "xmlcharrefreplace")

    return join_documents([document], rebuild)
