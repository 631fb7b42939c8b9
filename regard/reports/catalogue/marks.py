"""Texts as Markdown: cells of tables, code, and docstrings whose signs are no markup."""

from collections.abc import Mapping
from typing import Any

from regard.attention.recipes import as_yaml


def cells(*texts: str) -> str:
    """A row of a table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def code(text: str) -> str:
    """As code, whatever signs it holds."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def escape(text: str) -> str:
    """A docstring as Markdown: what stands in `these` is left alone, other signs are no markup."""
    pieces = text.split("`")
    signs = str.maketrans({"\\": r"\\", "*": r"\*", "_": r"\_", "<": "&lt;"})
    pieces[::2] = [piece.translate(signs) for piece in pieces[::2]]
    return "`".join(pieces)


def setting(name: str, about: Mapping[str, Any]) -> str:
    """hidden_dim: int = 256"""
    return f"{name}: {about['type']}" + (f" = {as_yaml(about['default'])}" if "default" in about else ", must be given")
