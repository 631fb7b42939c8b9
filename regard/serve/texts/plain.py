"""Plain text: line ends, blank lines, indents and whatever has no letters stay as they are."""

from collections.abc import Iterator, Sequence

from regard.serve.texts.asking import ask, held
from regard.serve.texts.documents import Document
from regard.serve.texts.passages import Event, Passage
from regard.serve.texts.placeholders import placeholders
from regard.serve.texts.sentences import LIMIT, sentences
from regard.serve.texts.words import Span


def plain_document(text: str, *, language: str | None = None, limit: int = LIMIT) -> Document:
    """A text as a document."""
    return Document(list(_parts(text, language, limit)), written)


def written(events: Sequence[Event]) -> str:
    """Rendered text; a plain one has no marks."""
    return "".join(event for event in events if isinstance(event, str))


def _parts(text: str, language: str | None, limit: int) -> Iterator[str | Passage]:
    found, cursor, position = placeholders(text), 0, 0
    for start, end in sentences(text, language=language, limit=limit, kept=[Span(*each[:2]) for each in found]):
        while position < len(found) and found[position].start < start:
            position += 1
        begin = position
        while position < len(found) and found[position].end <= end:
            position += 1
        passage = ask(text, start, end, held(text, found[begin:position]))
        if passage is not None:
            yield from (text[cursor:start], passage)
            cursor = end
    yield text[cursor:]
