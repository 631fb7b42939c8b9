"""A page or a fragment of one → a document: everything but the text of its sentences comes out as it went in."""

from collections.abc import Iterator, Sequence

from regard.documents.document import Document
from regard.documents.marked_text import cut
from regard.documents.markup.characters import escaped, read
from regard.documents.markup.labels import relabelled
from regard.documents.markup.lexer import Token, tokens
from regard.documents.markup.names import BREAKS, VOID, untouched
from regard.documents.passages import Kind, Mark, Stretch
from regard.documents.rendering import Style
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import Room
from regard.documents.words import Span


def html_document(html: str, *, language: str | None = None, limit: int = LIMIT, room: Room | None = None) -> Document:
    """Any string is taken as HTML; what is malformed is kept as it is. Raises TooMuch when there is no room for it."""
    reader = _Reader(language, limit, room or Room())
    for token in tokens(html):
        reader.take(token)
    reader.finish()
    return Document(reader.stretches, "".join(reader.kept), Style(escaped, reader.sources.__getitem__), relabelled)


class _Reader:
    """Gathers the text of a block until the next one begins."""

    def __init__(self, language: str | None, limit: int, room: Room) -> None:
        self.language, self.limit, self.room = language, limit, room
        self.stretches: list[Stretch] = []
        self.kept: list[str] = []  # what stays as it is, behind the last of them
        self.sources: list[str] = []  # of the marks, by their numbers
        self.skipped: list[Token] = []  # the untouched element that we are in
        self.depth = 0
        self._begin()

    def _begin(self) -> None:
        self.characters: list[tuple[str, str]] = []
        self.marks: list[Mark] = []

    def take(self, token: Token) -> None:
        """The next token of the page."""
        self.room.mark()
        if self.skipped:
            self._skip(token)
        elif token.kind == "text":
            self.characters += read(token.source)
        elif token.kind == "raw":
            self._mark("point", token)
        elif token.kind == "open" and token.name not in VOID and untouched(token.source, token.name):
            self.skipped, self.depth = [token], 1
        elif token.name in BREAKS:
            self._end_block()
            self.kept.append(token.source)
        elif token.name in VOID:
            self._mark("point", token)
        else:
            self._mark("open" if token.kind == "open" else "close", token)

    def finish(self) -> None:
        """The page ends here, and whatever is open with it."""
        if self.skipped:
            self._end_skipping()
        self._end_block()

    def _mark(self, kind: Kind, token: Token) -> None:
        self.marks.append(Mark(len(self.characters), kind, token.name, self._number(token.source)))

    def _number(self, source: str) -> int:
        self.sources.append(source)
        return len(self.sources) - 1

    def _skip(self, token: Token) -> None:
        name = self.skipped[0].name
        if token.name == name == "p" and token.kind == "open":  # a paragraph ends where the next begins
            self._end_skipping()
            self.take(token)
            return
        self.skipped.append(token)
        if token.name == name:
            self.depth += 1 if token.kind == "open" else -1
            if not self.depth:
                self._end_skipping()

    def _end_skipping(self) -> None:
        skipped, self.skipped = self.skipped, []
        source = "".join(token.source for token in skipped)
        if skipped[0].name in BREAKS:
            self._end_block()
            self.kept.append(source)
            return
        self.marks.append(Mark(len(self.characters), "point", "", self._number(source)))

    def _end_block(self) -> None:
        text = "".join(" " if character in "\t\n\f\r" else character for character, _ in self.characters)
        found = cut(text, self.marks, self._as_written, language=self.language, limit=self.limit, room=self.room)
        for before, passage in found.stretches:
            self.stretches.append(Stretch("".join([*self.kept, before]), passage))
            self.kept = []
        self.kept.append(found.rest)
        self._begin()

    def _as_written(self, span: Span, marks: Sequence[Mark]) -> str:
        return "".join(self._written(span, marks))

    def _written(self, span: Span, marks: Sequence[Mark]) -> Iterator[str]:
        cursor = span.start
        for mark in marks:
            yield from (written for _, written in self.characters[cursor : mark.place])
            yield self.sources[mark.number]
            cursor = mark.place
        yield from (written for _, written in self.characters[cursor : span.end])
