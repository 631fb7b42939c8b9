"""Marks of context in a source text, each a piece of its own.

⟦match⟧ the translation of a similar segment, up to the next mark or the end of the text
⟦term⟧  a term of the text, followed by ⟦as⟧ its translation ⟦end⟧
"""

import re
from collections.abc import Iterator

from regard.errors import PartError
from regard.text.tokenizer import Tokenizer

MATCH, TERM, AS, TERM_END = SOURCE_MARKS = ("⟦match⟧", "⟦term⟧", "⟦as⟧", "⟦end⟧")
_MARK = re.compile(f" ?({'|'.join(SOURCE_MARKS)}) ?")
_CONTEXT = (MATCH, AS)  # what follows is no text of the user


def without_source_marks(text: str) -> str:
    """Return a text of a user: marks in it lose their brackets, so that they mark nothing."""
    return _MARK.sub(lambda found: found.group().replace("⟦", "[").replace("⟧", "]"), text) if "⟦" in text else text


def given_stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a marked source that are the user's text, without marks and context."""
    start, given = 0, True
    for mark in _MARK.finditer(text):
        if given and mark.start() > start:
            yield start, mark.start()
        start, given = mark.end(), mark[1] not in _CONTEXT
    if given and start < len(text):
        yield start, len(text)


def given_text(text: str) -> str:
    """Return the user's text of a marked source."""
    return " ".join(text[start:end] for start, end in given_stretches(text)) if "⟦" in text else text


def check_marks(tokenizer: Tokenizer) -> None:
    """Raise PartError for a tokenizer without a piece for each mark."""
    lacking = [mark for mark in SOURCE_MARKS if tokenizer.pieces(tokenizer.encode(mark)) != [f"\u2581{mark}"]]
    if lacking:
        problem = f"needs a vocabulary with the piece {lacking[0]}, and the one that this run takes lacks it"
        raise PartError(problem, "learn the vocabulary in this run: text.tokenizer=subwords, and no --from")
