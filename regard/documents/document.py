"""Document: the sentences to translate and the text around them, rebuilt from translations."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from regard.documents.passages import Passage
from regard.documents.placeholders import Placeholder, placeholders
from regard.documents.rendering import Style, numeral_check, render_passage
from regard.documents.segments import Segment
from regard.results import Prediction
from regard.scripts import UNSPACED

_LONGEST = 2_100  # characters of the longest placeholder
_MARKUP = "<\ufdd0"  # first characters of marks in pages and Word files
_CLOSE = re.compile(r"(zh|ja|yue|wuu|lzh)\b", re.IGNORECASE)  # no space between sentences; Thai has one
_FULL_WIDTH = re.compile(f"[{UNSPACED}、。\uff01-\uff60”’…]$")
_FULL_STOP = re.compile("[。！？；：，、…」』”]$")
_SPACES = " \t\u3000"

_T = TypeVar("_T")


class SourceSentence(NamedTuple):
    """A sentence as the model gets it, with the untranslated text before and after."""

    before: str
    text: str
    after: str


class Insets(NamedTuple):
    """Texts beside the running text of a document, as attributes of tags are. Each is a document of its own."""

    documents: Sequence["Document"] = ()
    insert: Callable[[str, Sequence[str]], str] = lambda whole, _: whole  # (document, their new texts) → both together


@dataclass(frozen=True)
class Document:
    """Passages to translate, and the untranslated text between them. Those of its insets come last."""

    segments: Sequence[Segment]
    rest: str  # after the last passage
    style: Style
    relabel: Callable[[str, str, str], str] | None = None  # (text, source, target) → its language label changed
    insets: Insets = field(default_factory=Insets)

    @cached_property
    def passages(self) -> list[Passage]:
        """Passages in text order."""
        own = [segment.passage for segment in self.segments]
        return [*own, *(passage for inset in self.insets.documents for passage in inset.passages)]

    @property
    def texts(self) -> list[str]:
        """Sentences to translate, in text order."""
        return [passage.text for passage in self.passages]

    @property
    def originals(self) -> list[str]:
        """The same sentences as they were written, without markup."""
        return [passage.original for passage in self.passages]

    @property
    def explain(self) -> bool:
        """Return whether alignments help to place placeholders and markup."""
        return any(passage.explain for passage in self.passages)

    @cached_property
    def sentences(self) -> list[SourceSentence]:
        """One per item of `texts`; of a plain text without placeholders, all parts joined are the text."""
        found = [SourceSentence(before, passage.text, "") for before, passage in self.segments]
        own = [*found[:-1], *(last._replace(after=self.rest) for last in found[-1:])]
        return [*own, *(sentence for inset in self.insets.documents for sentence in inset.sentences)]

    def translations(self, predictions: Sequence[Prediction]) -> list[str]:
        """Return the text to write for each sentence, with placeholders and markup restored."""
        own, insets = self._shares(predictions)
        pairs = zip(self.segments, own, strict=True)
        written = [render_passage(segment.passage, prediction, self.style) for segment, prediction in pairs]
        return [*written, *(text for inset, some in insets for text in inset.translations(some))]

    def checked(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        """Return the predictions, with a warning where numerals of the source are lost or others are written."""
        found = list[Prediction]()
        for passage, prediction in zip(self.passages, predictions, strict=True):
            warning = numeral_check(passage, prediction)
            found.append(prediction.warned(warning) if warning else prediction)
        return found

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
        return [*gaps, *(gap for inset, some in self._shares(written)[1] for gap in inset.gaps(some, target))]

    def alternatives(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> list[str]:
        """Return other translations of the document, of the next best of each sentence."""
        count = max((len(one.alternatives) for one in predictions), default=0)
        return [self.rebuild([nth(one, number) for one in predictions], pair) for number in range(count)]

    def rebuild(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> str:
        """Return the translated document. Raises ValueError unless there is one prediction per text.

        `pair`: language codes (source, target), for the spaces between sentences and the language label of a page.
        """
        written, (_, insets) = self.translations(predictions), self._shares(predictions)
        gaps = self.gaps(written, pair[1]) if pair else [segment.before for segment in self.segments]
        own = zip(gaps[: len(self.segments)], written[: len(self.segments)], strict=True)
        whole = "".join(_spaced([*(part for both in own for part in both), self.rest]))
        whole = self.insets.insert(whole, [inset.rebuild(some, pair) for inset, some in insets])
        return self.relabel(whole, *pair) if pair and self.relabel else whole

    def _shares(self, each: Sequence[_T]) -> tuple[Sequence[_T], list[tuple["Document", Sequence[_T]]]]:
        """Split one item per text into those of its own segments, and those of each inset.

        Raises ValueError unless there is one per text.
        """
        place, shares = len(self.segments), list[tuple[Document, Sequence[_T]]]()
        for inset in self.insets.documents:
            shares.append((inset, each[place : place + len(inset.texts)]))
            place += len(inset.texts)
        if place != len(each):
            raise ValueError(f"{len(each)} for {place} texts")
        return each[: len(self.segments)], shares


def nth(prediction: Prediction, number: int) -> Prediction:
    """Return an alternative; the best where a sentence has fewer."""
    others = prediction.alternatives
    return others[number] if number < len(others) else prediction


def _tags(found: Placeholder, text: str) -> bool:
    """Return whether only its markup makes it too long for a word."""
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
