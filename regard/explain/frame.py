"""The frame of every self-contained page: works from disk, and lets nothing run but what it brings."""

import re
import secrets
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from urllib.parse import quote

from regard.explain.tokens import visible_line

_IMPORT = re.compile(r'^import \{([^}]+)\} from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)


def framed(
    body: str,
    *,
    title: str,
    script: str,
    style: str,
    tools: str = "",
    attributes: str = "",
    images: str = "data:",
    app: bool = False,
) -> str:
    """Return a whole page around a body; `body`, `tools` and `attributes` are HTML, the title is text.

    Only the script and the style with the page's nonce may run; `images` are the allowed sources of images.
    An `app` may run WebAssembly, start workers of its own script, and be installed by a manifest inside it.
    """
    fields = {
        "nonce": secrets.token_urlsafe(18),
        "title": escape(visible_line(title)),
        "style": static("page.css") + style,
        "tools": tools,
        "attributes": attributes,
        "images": images,
        "more": " 'wasm-unsafe-eval'; worker-src 'self' blob:; manifest-src data:" if app else "",
        "icon": quote(static("mark.svg")),
        "body": body,
        "script": script,
    }
    return filled(static("frame.html"), fields)


def filled(template: str, fields: Mapping[str, str]) -> str:
    """Fill the fields in one pass, so that no content is read as the name of a field."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], template)


def bundle(name: str) -> str:
    """Return a module and all its imports as one script, each in a scope of its own, dependencies first.

    Modules may use `import { a, b } from "./other.js";`, and `export` of `function`, `class` or `const`, no other form.
    """
    scopes: dict[str, str] = {}

    def add(module: str) -> None:
        text = static(module)
        for _, other in _IMPORT.findall(text):
            if other not in scopes:
                add(other)
        given = ", ".join(_EXPORT.findall(text))
        text = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_scope(found[2])};", text)
        text = re.sub("^export ", "", text, flags=re.MULTILINE)
        scopes[module] = f"const {_scope(module)} = (() => {{\n{text}return {{ {given} }};\n}})();"

    add(name)
    return "\n".join(scopes.values())


def _scope(module: str) -> str:
    return f"${module.removesuffix('.js')}"


def static(name: str, package: str = "regard.explain") -> str:
    """The text of a file that lies in the folder `static` of a package."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")
