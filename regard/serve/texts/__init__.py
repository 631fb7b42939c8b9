"""Whole texts and files → sentences for a model, and its translations → the same text or file in the other language."""

from typing import Literal

from regard.serve.texts.detection import Detector
from regard.serve.texts.documents import Document, Sentence
from regard.serve.texts.files import SUFFIXES, FileDocument, FileError, file_document
from regard.serve.texts.markup import html_document
from regard.serve.texts.plain import plain_document
from regard.serve.texts.room import TooMuch
from regard.serve.texts.sentences import LIMIT

__all__ = [
    "SUFFIXES",
    "Detector",
    "Document",
    "FileDocument",
    "FileError",
    "Sentence",
    "TooMuch",
    "document",
    "file_document",
]


def document(
    text: str, kind: Literal["text", "html"] = "text", *, language: str | None = None, limit: int = LIMIT
) -> Document:
    """What is to be translated of a text, and how it is put together again.

    `language` is that of the text, where it is known; sentences over `limit` characters are cut.
    """
    make = html_document if kind == "html" else plain_document
    return make(text, language=language, limit=limit)
