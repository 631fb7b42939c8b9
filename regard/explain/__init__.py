"""Explanations for people: alignments, symptoms, heat maps and a page. All functions of plain values."""

from typing import TYPE_CHECKING

from regard.explain.page import fragment, page, to_json
from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.explain.pictures import by_words, png, png_of, svg, svg_of
else:  # prediction alone needs no plots
    __getattr__ = at_first_use(__name__, pictures="by_words, png, png_of, svg, svg_of")

__all__ = ["by_words", "fragment", "page", "png", "png_of", "svg", "svg_of", "to_json"]
