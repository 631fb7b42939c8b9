"""The frame of every self-contained page: works from disk, and lets nothing run but what it brings."""

import re
import secrets
from collections.abc import Mapping
from html import escape
from importlib.resources import files

from regard.explain.tokens import visible_line


def framed(
    body: str, *, title: str, script: str, style: str, tools: str = "", attributes: str = "", images: str = "data:"
) -> str:
    """A whole page around a body, which is HTML, as `tools` and `attributes` are; the title is text.

    Only the script and the style with the page's nonce may run; `images` are the sources that pictures may have.
    """
    fields = {
        "nonce": secrets.token_urlsafe(18),
        "title": escape(visible_line(title)),
        "style": static("page.css") + style,
        "tools": tools,
        "attributes": attributes,
        "images": images,
        "body": body,
        "script": script,
    }
    return filled(static("frame.html"), fields)


def filled(template: str, fields: Mapping[str, str]) -> str:
    """One pass, so that nothing inside a field is read as the name of another."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], template)


def static(name: str, package: str = "regard.explain") -> str:
    """The text of a file that lies in the folder `static` of a package."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")
