"""HTML with the markup kept whole."""

from regard.serve.texts.markup.page import html_document

__all__ = ["html_document"]
