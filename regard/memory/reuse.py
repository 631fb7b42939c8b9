"""Translations that a memory has already: recalled for a text or its sentences, and joined with a model's answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from regard.errors import DataError
from regard.memory.similarity import EXACT, THRESHOLD, plain_text
from regard.results import MemoryMatch, Prediction, TextPrediction

MATCHES = 3  # of a sentence that are reported; a model may read more
MAX_SEARCHED = 2_000  # characters of a sentence that similar segments are searched for

SentenceMatches = Sequence[Sequence[MemoryMatch]]


class Recall(NamedTuple):
    """Matches of a text as a whole if the memory has it, else of its sentences in order."""

    whole: bool
    matches: list[list[MemoryMatch]]


class SegmentMemory(Protocol):
    """A memory that texts are recalled from."""

    def recall(
        self, text: str, sentences: Sequence[str], *, before: str = "", threshold: int = THRESHOLD, limit: int = MATCHES
    ) -> Recall:
        """Return the matches of a text, whose sentences are known, of at least `threshold` per cent.

        `before`: the sentence before it. `limit`: maximum number of matches of a sentence.
        """


class Searching(Protocol):
    """A search for segments."""

    def __call__(self, text: str, *, before: str, threshold: int, limit: int) -> list[MemoryMatch]:
        """Return the segments most like a text."""


def recall(
    search: Searching, text: str, sentences: Sequence[str], before: str, threshold: int, limit: int = MATCHES
) -> Recall:
    """Return the matches of a text; long sentences have exact matches alone.

    Args:
        search: The search of a memory.
        text: The text; an empty one is searched for by its sentences alone.
        sentences: Its sentences; an empty one has no match.
        before: The sentence before the text.
        threshold: Minimum similarity in per cent.
        limit: Maximum number of matches of a sentence.
    """
    several = text and len(text) <= MAX_SEARCHED and [plain_text(text)] != [*map(plain_text, sentences)]
    if several and (found := search(text, before=before, threshold=EXACT, limit=MATCHES)):
        return Recall(whole=True, matches=[found])
    matches = list[list[MemoryMatch]]()
    for one in sentences:
        least = threshold if len(one) <= MAX_SEARCHED else EXACT
        matches.append(search(one, before=before, threshold=least, limit=limit) if one.strip() else [])
        before = one
    return Recall(whole=False, matches=matches)


def places_left(matches: SentenceMatches) -> list[int]:
    """Return the places of sentences that the memory does not have, which the model answers."""
    return [place for place, found in enumerate(matches) if not (found and found[0].exact)]


def join_answers(sentences: Sequence[str], matches: SentenceMatches, answers: Sequence[Prediction]) -> list[Prediction]:
    """Return a prediction for each sentence: the stored translation, else the model's answer, with its matches.

    `answers` are those of `places_left`, in order.
    """
    left = dict(zip(places_left(matches), answers, strict=True))
    return [
        _beside(left[place], found) if place in left else _stored(sentence, found)
        for place, (sentence, found) in enumerate(zip(sentences, matches, strict=True))
    ]


def reused(
    sentences: Sequence[str], matches: SentenceMatches, ask: Callable[[list[int]], Sequence[Prediction]]
) -> list[Prediction]:
    """Return a prediction for each sentence; `ask` returns those of the places that are left to the model."""
    left = places_left(matches)
    try:
        answers = ask(left) if left else []
    except DataError as error:  # its line counts the sentences that the model was given
        raise error if error.line is None else error.at(left[error.line - 1] + 1) from error
    return join_answers(sentences, matches, answers)


def _stored(sentence: str, matches: Sequence[MemoryMatch]) -> Prediction:
    """Return the first match as the answer, and other translations of the same text as its alternatives."""
    exact = [one for one in matches if one.exact]
    best, *others = [TextPrediction(sentence, one.target, 0.0, memory=[one]) for one in exact]
    return replace(best, memory=[*matches], alternatives=[*others])


def _beside(prediction: Prediction, matches: Sequence[MemoryMatch]) -> Prediction:
    return replace(prediction, memory=[*matches]) if matches and isinstance(prediction, TextPrediction) else prediction
