"""A text with the sentences to translate taken out, and put together again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regard.documents.passages import Passage, Stretch
from regard.documents.placeholders import Placeholder, placeholders
from regard.documents.rendering import Style, render
from regard.results import Prediction

_LONGEST = 2_100  # characters of a placeholder
_MARKUP = "<\ufdd0"  # marks begin so in pages and in Word files


class Sentence(NamedTuple):
    """A sentence as a model is asked it, and the untranslated characters around it."""

    before: str
    text: str
    after: str


@dataclass(frozen=True)
class Document:
    """Passages to translate and, between them, what stays as it is."""

    stretches: Sequence[Stretch]
    rest: str  # behind the last passage
    style: Style
    relabel: Callable[[str, str, str], str] | None = None  # puts the target in the place of the source as its language

    @cached_property
    def passages(self) -> list[Passage]:
        """In the order of the text."""
        return [stretch.passage for stretch in self.stretches]

    @property
    def texts(self) -> list[str]:
        """The sentences to translate, in order."""
        return [passage.text for passage in self.passages]

    @property
    def explain(self) -> bool:
        """Whether alignments help to put placeholders and markup where they belong."""
        return any(passage.explain for passage in self.passages)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """As many as `texts`; joined, a plain text without stand-ins."""
        found = [Sentence(before, passage.text, "") for before, passage in self.stretches]
        return [*found[:-1], *(last._replace(after=self.rest) for last in found[-1:])]

    def translations(self, predictions: Sequence[Prediction]) -> list[str]:
        """What is written for each sentence: placeholders, and markup if there is any, in their places."""
        pairs = zip(self.passages, predictions, strict=True)
        return [render(passage, prediction, self.style) for passage, prediction in pairs]

    def rebuild(self, predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> str:
        """The whole document in the other language. Raises ValueError unless there is one prediction per text.

        `pair`: codes of source and target, for a document that says which language it is in.
        """
        pairs = zip(self.stretches, self.translations(predictions), strict=True)
        parts = [part for stretch, written in pairs for part in (stretch.before, written)]
        whole = "".join(_apart([*parts, self.rest]))
        return self.relabel(whole, *pair) if pair and self.relabel else whole


def _tags(found: Placeholder, text: str) -> bool:
    """Whether it is long with markup alone."""
    return found.long and any(sign in text[found.start : found.end] for sign in _MARKUP)


def _apart(parts: Sequence[str]) -> Iterator[str]:
    """The parts, with a space between two of which the ends would make a placeholder that was not there."""
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
