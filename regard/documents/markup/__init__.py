"""HTML with the markup kept whole."""

from regard.documents.markup.page import html_document

__all__ = ["html_document"]
