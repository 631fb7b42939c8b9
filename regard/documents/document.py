"""Document: the sentences to translate and the text around them, rebuilt from translations."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regard.documents.passages import Passage
from regard.documents.placeholders import Placeholder, placeholders
from regard.documents.rendering import Style, render_passage
from regard.documents.segments import Segment
from regard.results import Prediction
from regard.scripts import UNSPACED

_LONGEST = 2_100  # characters of the longest placeholder
_MARKUP = "<\ufdd0"  # first characters of marks in pages and Word files
_CLOSE = re.compile(r"(zh|ja|yue|wuu|lzh)\b", re.IGNORECASE)  # no space between sentences; Thai has one
_FULL_WIDTH = re.compile(f"[{UNSPACED}、。\uff01-\uff60”’…]$")
_FULL_STOP = re.compile("[。！？；：，、…」』”]$")
_SPACES = " \t\u3000"


class SourceSentence(NamedTuple):
    """A sentence as the model gets it, with the untranslated text before and after."""

    before: str
    text: str
    after: str


@dataclass(frozen=True)
class Document:
    """Passages to translate, and the untranslated text between them."""

    segments: Sequence[Segment]
    rest: str  # after the last passage
    style: Style
    relabel: Callable[[str, str, str], str] | None = None  # (text, source, target) → its language label changed

    @cached_property
    def passages(self) -> list[Passage]:
        """Passages in text order."""
        return [segment.passage for segment in self.segments]

    @property
    def texts(self) -> list[str]:
        """Sentences to translate, in text order."""
        return [passage.text for passage in self.passages]

    @property
    def explain(self) -> bool:
        """Whether alignments help to place placeholders and markup."""
        return any(passage.explain for passage in self.passages)

    @cached_property
    def sentences(self) -> list[SourceSentence]:
        """One per item of `texts`; of a plain text without placeholders, all parts joined are the text."""
        found = [SourceSentence(before, passage.text, "") for before, passage in self.segments]
        return [*found[:-1], *(last._replace(after=self.rest) for last in found[-1:])]

    def translations(self, predictions: Sequence[Prediction]) -> list[str]:
        """Return the text to write for each sentence, with placeholders and markup restored."""
        pairs = zip(self.passages, predictions, strict=True)
        return [render_passage(passage, prediction, self.style) for passage, prediction in pairs]

    def gaps(self, written: Sequence[str], target: str) -> list[str]:
        """Return the text before each sentence as the target language has it, given what is written for the sentences.

        Between two sentences of a line Chinese and Japanese put no space; where they were the source, others need one.
        """
        close, sources = _CLOSE.match(target) is not None, self.texts
        gaps = [segment.before for segment in self.segments]
        for place in range(1, len(gaps)):
            if close and gaps[place] and not gaps[place].strip(_SPACES) and _FULL_WIDTH.search(written[place - 1]):
                gaps[place] = ""
            elif not close and not gaps[place] and _FULL_STOP.search(sources[place - 1]):
                gaps[place] = " "
        return gaps

    def alternatives(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> list[str]:
        """Return other translations of the document, of the next best of each sentence."""
        count = max((len(one.alternatives) for one in predictions), default=0)
        return [self.rebuild([nth(one, number) for one in predictions], pair) for number in range(count)]

    def rebuild(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> str:
        """Return the translated document. Raises ValueError unless there is one prediction per text.

        `pair`: language codes (source, target), for the spaces between sentences and the language label of a page.
        """
        written = self.translations(predictions)
        gaps = self.gaps(written, pair[1]) if pair else [segment.before for segment in self.segments]
        parts = [part for gap, text in zip(gaps, written, strict=True) for part in (gap, text)]
        whole = "".join(_spaced([*parts, self.rest]))
        return self.relabel(whole, *pair) if pair and self.relabel else whole


def nth(prediction: Prediction, number: int) -> Prediction:
    """Return an alternative; the best where a sentence has fewer."""
    others = prediction.alternatives
    return others[number] if number < len(others) else prediction


def _tags(found: Placeholder, text: str) -> bool:
    """Whether only its markup makes it too long for a word."""
    return found.long and any(sign in text[found.start : found.end] for sign in _MARKUP)


def _spaced(parts: Sequence[str]) -> Iterator[str]:
    """Yield the parts, with a space between two whose ends would form a new placeholder."""
    before = ""
    for part in filter(None, parts):
        if before and not before[-1].isspace() and not part[0].isspace():
            edge, after = before[-_LONGEST:], part[:_LONGEST]
            if any(
                each.start < len(edge) < each.end and not _tags(each, edge + after)
                for each in placeholders(edge + after)
            ):
                yield " "
        yield part
        before = part
