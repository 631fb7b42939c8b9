"""Splits a text or a page."""

from typing import Literal

from regard.documents.document import Document
from regard.documents.html_page import html_document
from regard.documents.plain_text import plain_document
from regard.documents.sentences import LIMIT


def text_document(
    text: str, kind: Literal["text", "html"] = "text", *, language: str | None = None, limit: int = LIMIT
) -> Document:
    """Return a text split into sentences to translate.

    `language` is the code of the text's language, if known. Sentences over `limit` characters are split.
    """
    make = html_document if kind == "html" else plain_document
    return make(text, language=language, limit=limit)
