"""Texts as YAML spells them."""


def quoted(text: str) -> str:
    """As a YAML text, whatever its signs: files may be called `no` or `1: a`, and hold bytes that are no text."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(one if one.isalnum() else f"\\U{ord(one):08x}" for one in text) + '"'
