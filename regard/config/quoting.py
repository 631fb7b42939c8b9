"""Texts as YAML spells them."""


def quoted(text: str) -> str:
    """As a YAML text, whatever its signs: files may be called `no` or `1: a`."""
    return "'" + text.replace("'", "''") + "'"
