"""Limits on the size of a document, checked while it is read."""

import math

from regard.errors import RegardError


class TooLarge(RegardError):
    """A document exceeds its size budget; the message is one line for the client."""


class SizeBudget:
    """Counts sentences, marks (tags, runs, placeholders …) and tokens of XML up to a maximum of each."""

    def __init__(self, *, sentences: float = math.inf, marks: float = math.inf, tokens: float = math.inf) -> None:
        self.sentences, self.marks, self.tokens = sentences, marks, tokens
        self._sentences, self._marks, self._tokens = 0, 0, 0

    def count_sentence(self) -> None:
        """Count one sentence. Raises TooLarge above the maximum."""
        self._sentences += 1
        if self._sentences > self.sentences:
            raise TooLarge(f"the file has more than {self.sentences:,} sentences: send it in parts")

    def count_mark(self, count: int = 1) -> None:
        """Count one mark or several. Raises TooLarge above the maximum."""
        self._marks += count
        if self._marks > self.marks:
            raise TooLarge(f"the file has more than {self.marks:,} tags, numbers and the like: send it in parts")

    def count_token(self) -> None:
        """Count one tag, comment or text of XML. Raises TooLarge above the maximum."""
        self._tokens += 1
        if self._tokens > self.tokens:
            raise TooLarge(f"the file has more than {self.tokens:,} tags in all: send it in parts")
