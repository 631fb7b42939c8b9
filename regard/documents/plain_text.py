"""Plain text: line ends, blank lines, indents and whatever has no letters stay as they are."""

from regard.documents.document import Document
from regard.documents.passages import Cut, Stretch
from regard.documents.placeholders import placeholders
from regard.documents.rendering import Style
from regard.documents.segments import ask, bare, held
from regard.documents.sentences import LIMIT, sentences
from regard.documents.size_budget import Room
from regard.documents.words import Span

PLAIN = Style(str, str)  # of marks there are none


def plain_document(text: str, *, language: str | None = None, limit: int = LIMIT, room: Room | None = None) -> Document:
    """A text as a document. Raises TooMuch when there is no room for it."""
    return Document(*_cut(text, language, limit, room or Room()), PLAIN)


def _cut(text: str, language: str | None, limit: int, room: Room) -> Cut:
    stretches, found, cursor, position = list[Stretch](), placeholders(text, room), 0, 0
    kept = [Span(*each[:2]) for each in found]
    for span in sentences(text, language=language, limit=limit, kept=kept):
        room.sentence()
        start, end = bare(text, span, kept)
        while position < len(found) and found[position].start < start:
            position += 1
        begin = position
        while position < len(found) and found[position].end <= end:
            position += 1
        passage = ask(text, start, end, held(text, found[begin:position]))
        if passage is not None:
            stretches.append(Stretch(text[cursor:start], passage))
            cursor = end
    return Cut(stretches, text[cursor:])
