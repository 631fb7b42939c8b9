"""Texts without words."""

from collections.abc import Iterator, Sequence
from random import Random

from regard.reports.behaviour.suite import Case, Suite

_BLANK = (
    "",
    " ",
    "\n",
    "\t",
    " \n \n",
    ".",
    "...",
    "…",
    "?",
    "!?",
    "-",
    "---",
    "“”",
    "*",
    "• • •",
    "()",
    "。",
    ",",
    ":",
    "/",
)


class EmptySuite(Suite):
    """Texts without letters and digits. The answer has none either."""

    about = "nothing is made up from a text without words"
    reads = writes = False

    def cases(self, draw: Random) -> Iterator[Case]:
        for text in _BLANK:
            yield Case((text,), _fault)


def _fault(answers: Sequence[str]) -> str:
    (answer,) = answers
    return "words made up" if any(map(str.isalnum, answer)) else ""
