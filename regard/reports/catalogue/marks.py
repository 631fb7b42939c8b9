"""Texts as Markdown: cells of tables, code, and docstrings whose signs are no markup."""

from collections.abc import Mapping
from typing import Any


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
    return f"{name}: {about['type']}" + (f" = {yaml(about['default'])}" if "default" in about else ", must be given")


def yaml(value: Any) -> str:
    """{score: {name: bilinear, scaled: true}}"""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {yaml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml, value)) + "]"
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or value is True or value is False
        else str(value)
    )
