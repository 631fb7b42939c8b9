"""Texts at fixed places of a part's docstrings, which lists and pages show.

first line            formula, or a short description
Cost: O(n·m·d)        a separate line, the last of the class docstring; see COST_LETTERS
a link                the paper: the first link in the class docstring, else in the module's
"""

import re
from inspect import cleandoc, getmodule
from typing import Any

COST_LETTERS = "n queries, m keys, d their width, h hidden_dim, r radius; of a span: to score and read what it shows"
_COST = re.compile(r"^Cost: (.+?)\.?$", re.MULTILINE)
_LINK = re.compile(r"https?://[^\s)>,;\"'`]+[^\s)>,;\"'`.:]|arXiv:\d{4}\.\d{4,5}")


def formula(part: Any) -> str:
    """Return the first line of the class docstring."""
    return _text(part).partition("\n")[0]


def sentence(part: Any) -> str:
    """Return the first line, with the rest of its last sentence."""
    said, *rest = _text(part).partition("\n\n")[0].splitlines() or [""]
    for line in rest:
        if said.endswith("."):
            break
        start, end, _ = line.partition(". ")
        said += f" {start}{end.strip()}"
    return said


def body(part: Any) -> str:
    """Return the class docstring after its first line, without the cost."""
    return _COST.sub("", _text(part).partition("\n")[2]).strip()


def cost(part: Any) -> str | None:
    """Return the time for one sentence, in the letters of COST_LETTERS."""
    found = _COST.search(_text(part))
    return found[1] if found else None


def paper(part: Any) -> str | None:
    """Return the link to the paper."""
    for text in (_text(getmodule(part)), _text(part)):
        found = _LINK.search(text)
        if found:
            return found[0].replace("arXiv:", "https://arxiv.org/abs/")
    return None


def _text(thing: Any) -> str:
    return cleandoc(thing.__doc__ or "")
