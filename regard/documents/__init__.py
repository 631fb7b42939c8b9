"""Splits texts, pages and files into sentences, and puts their translations back with all markup kept."""

from typing import Literal

from regard.documents.document import Document, SourceSentence
from regard.documents.files import SUFFIXES, FileDocument, FileError, file_document
from regard.documents.html_page import html_document
from regard.documents.language_detection import Detector
from regard.documents.plain_text import plain_document
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import TooLarge

__all__ = [
    "SUFFIXES",
    "Detector",
    "Document",
    "FileDocument",
    "FileError",
    "SourceSentence",
    "TooLarge",
    "file_document",
    "text_document",
]


def text_document(
    text: str, kind: Literal["text", "html"] = "text", *, language: str | None = None, limit: int = LIMIT
) -> Document:
    """Return a text split into sentences to translate.

    `language` is the code of the text's language, if known. Sentences over `limit` characters are split.
    """
    make = html_document if kind == "html" else plain_document
    return make(text, language=language, limit=limit)
