"""How large a document may be, found out while it is read and not after."""

import math

from regard.errors import RegardError


class TooMuch(RegardError):
    """A document has more in it than is read at once; one line for whoever sent it."""


class Room:
    """For so many sentences and marks: tags, runs, placeholders and whatever else is looked at one by one."""

    def __init__(self, *, sentences: float = math.inf, marks: float = math.inf) -> None:
        self.sentences, self.marks = sentences, marks
        self._sentences, self._marks = 0, 0

    def sentence(self) -> None:
        """One more. Raises TooMuch when there is no room for it."""
        self._sentences += 1
        if self._sentences > self.sentences:
            raise TooMuch(f"the file has more than {self.sentences:,} sentences: send it in parts")

    def mark(self) -> None:
        """One more. Raises TooMuch when there is no room for it."""
        self._marks += 1
        if self._marks > self.marks:
            raise TooMuch(f"the file has more than {self.marks:,} tags, numbers and the like: send it in parts")
