"""Splits plain text; line ends, blank lines, indents and text without letters are kept."""

from regard.documents.document import Document
from regard.documents.passages import Passage
from regard.documents.placeholders import placeholders
from regard.documents.rendering import Style
from regard.documents.segments import Segment, SplitText, make_passage, protected_spans, trim_signs
from regard.documents.sentences import LIMIT, sentences
from regard.documents.size_budget import SizeBudget
from regard.documents.text_spans import TextSpan


def plain_document(
    text: str, *, language: str | None = None, limit: int = LIMIT, budget: SizeBudget | None = None
) -> Document:
    """Return a plain text as a Document. Raises TooLarge when the budget is exceeded."""
    return Document(*_split(text, language, limit, budget or SizeBudget()), Style(str, str))  # it has no marks


def undivided(text: str) -> Document:
    """Return a plain text as a Document of one sentence, whose translation a memory has."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    segment = Segment(text[:start], Passage(text[start:end], range(start, end)))
    return Document([segment], text[end:], Style(str, str))


def _split(text: str, language: str | None, limit: int, budget: SizeBudget) -> SplitText:
    segments, found, cursor, position = list[Segment](), placeholders(text, budget), 0, 0
    kept = [TextSpan(*each[:2]) for each in found]
    for span in sentences(text, language=language, limit=limit, kept=kept):
        budget.count_sentence()
        start, end = trim_signs(text, span, kept)
        while position < len(found) and found[position].start < start:
            position += 1
        begin = position
        while position < len(found) and found[position].end <= end:
            position += 1
        passage = make_passage(text, start, end, protected_spans(text, found[begin:position]), language=language)
        if passage is not None:
            segments.append(Segment(text[cursor:start], passage))
            cursor = end
    return SplitText(segments, text[cursor:])
