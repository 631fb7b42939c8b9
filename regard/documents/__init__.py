"""Whole texts and files → sentences for a model, and its translations → the same text or file in the other language."""

from typing import Literal

from regard.documents.document import Document, Sentence
from regard.documents.files import SUFFIXES, FileDocument, FileError, file_document
from regard.documents.html_page import html_document
from regard.documents.language_detection import Detector
from regard.documents.plain_text import plain_document
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import TooMuch

__all__ = [
    "SUFFIXES",
    "Detector",
    "Document",
    "FileDocument",
    "FileError",
    "Sentence",
    "TooMuch",
    "file_document",
    "text_document",
]


def text_document(
    text: str, kind: Literal["text", "html"] = "text", *, language: str | None = None, limit: int = LIMIT
) -> Document:
    """What is to be translated of a text, and how it is put together again.

    `language` is that of the text, where it is known; sentences over `limit` characters are cut.
    """
    make = html_document if kind == "html" else plain_document
    return make(text, language=language, limit=limit)
