"""Answers that a translation memory has already, and segments that are like a text: --memory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regard.errors import ConfigError, DataError
from regard.memory import EXACT, TranslationMemory
from regard.predictor.kept_terms import LineAnswer, Warn
from regard.predictor.predictor import Predictor
from regard.results import MemoryMatch, Prediction, TextPrediction

_MATCHES = 3  # of a text that are reported


class MemoryAnswers:
    """A translation memory beside a model: equal texts are answered by it, the others by the model.

    A text that the memory has in the same context comes first, then the newest translation.
    """

    def __init__(self, file: Path | None, warn: Warn) -> None:
        """Open a memory; None: none. Raises DataError for a file that is missing or not a memory."""
        self.memory = None if file is None else TranslationMemory(file)
        self.warn, self.lines, self.reused, self.similar = warn, 0, 0, 0
        self._before = ""

    def check(self, predictor: Predictor) -> None:
        """Raise ConfigError for a model that does not translate, and for one of other languages."""
        if self.memory is None:
            return
        predictor.task.texts.check_terms("--memory")
        ours, theirs = self.memory.languages, [code or "" for code in predictor.setup.languages]
        if any(one and other and one != other for one, other in zip(ours, theirs, strict=True)):
            problem = f"'{self.memory.path}' has {' → '.join(ours)}, and the model translates {' → '.join(theirs)}"
            raise ConfigError("--memory", problem, "take a memory of these languages")

    def check_document(self, document: Path) -> None:
        """Raise ConfigError where a document would be translated beside a memory."""
        if self.memory is not None:
            raise ConfigError("--memory", f"is for lines, and {document.name} is a document", "--raw reads lines")

    def answer(self, answer: LineAnswer) -> LineAnswer:
        """Return predictions of lines; the model answers those that the memory does not have."""
        memory = self.memory
        if memory is None:
            return answer

        def remembered(texts: list[str], before: int) -> list[Prediction]:
            sides = zip(texts, [self._before, *texts], strict=False)
            found = [memory.search(text, before=one, limit=_MATCHES) if text.strip() else [] for text, one in sides]
            left = [place for place, matches in enumerate(found) if not _is_exact(matches)]
            try:
                asked = dict(zip(left, answer([texts[place] for place in left], before), strict=True)) if left else {}
            except DataError as error:  # its line counts the texts that the model was given
                raise error if error.line is None else error.at(left[error.line - 1] + 1) from error
            self._before = texts[-1] if texts else self._before
            self._count(found)
            return [
                _with(asked[place], matches) if place in asked else _reused(text, matches)
                for place, (text, matches) in enumerate(zip(texts, found, strict=True))
            ]

        return remembered

    def _count(self, found: Sequence[Sequence[MemoryMatch]]) -> None:
        self.lines += len(found)
        self.reused += sum(map(_is_exact, found))
        self.similar += sum(bool(matches) and not _is_exact(matches) for matches in found)

    def close(self) -> None:
        """Report how many lines the memory answered."""
        if self.memory is not None:
            self.warn(f"memory: {self.reused:,} of {self.lines:,} lines reused, {self.similar:,} with similar segments")


def _is_exact(matches: Sequence[MemoryMatch]) -> bool:
    return bool(matches) and matches[0].percent >= EXACT


def _reused(text: str, matches: Sequence[MemoryMatch]) -> Prediction:
    return TextPrediction(text, matches[0].target, 0.0, memory=[*matches])


def _with(prediction: Prediction, matches: Sequence[MemoryMatch]) -> Prediction:
    return replace(prediction, memory=[*matches]) if isinstance(prediction, TextPrediction) else prediction
