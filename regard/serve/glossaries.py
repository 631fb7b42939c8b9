"""Glossaries of requests, parsed in a thread, one at a time; the latest are cached."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from regard.documents.glossary import Glossary, with_stored_terms
from regard.documents.glossary_formats import is_tbx
from regard.errors import DataError
from regard.results import Prediction
from regard.serve.errors import ApiError, bad
from regard.serve.in_thread import LARGE, ThreadSlots, in_thread
from regard.serve.languages import AUTO

KEPT_TERMS = 100_000  # cached terms of all glossaries
KEPT_CHARACTERS = 2**23  # cached characters of all glossaries

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Glossaries:
    """Parser and cache of glossaries with at most `most` terms, each with at most `alternatives` translations."""

    def __init__(self, most: int, alternatives: int) -> None:
        self.most, self.alternatives = most, alternatives
        self._slots, self._kept = ThreadSlots(1), OrderedDict[tuple[str, tuple[str, str]], Glossary]()

    async def read(self, text: str, languages: tuple[str, str]) -> Glossary:
        """Return the terms between two languages. Raises ApiError for an invalid or too large glossary."""
        if (found := self._kept.get((text, languages))) is None:
            found = self._kept[text, languages] = await self.in_slot(len(text), self._read, text, languages)
        self._kept.move_to_end((text, languages))
        while self._kept and self._too_large():
            self._kept.popitem(last=False)
        return found

    async def in_slot(self, size: int, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return the function's result; those of large texts take turns in a thread."""
        work = self._slots.work if size >= LARGE else partial(in_thread, 0)
        return await work(function, *args, **kwargs)

    def _too_large(self) -> bool:
        """Return True if the cache is over its limits; an empty text counts as one character."""
        characters = sum(len(text) + 1 for text, _ in self._kept)
        return characters > KEPT_CHARACTERS or sum(map(len, self._kept.values())) > KEPT_TERMS

    async def lines_within(self, glossary: Glossary, texts: list[str]) -> tuple[str, ...]:
        """Return the lines of the terms that occur in these texts; others would cost time for nothing."""
        if not len(glossary):
            return ()
        return tuple((await in_thread(sum(map(len, texts)), glossary.within, texts)).lines())

    def _read(self, text: str, languages: tuple[str, str]) -> Glossary:
        if not is_tbx(text):
            self._check_lines(text.split("\n"))
        try:
            found = Glossary.of_text(text, languages=languages if AUTO not in languages else (None, None))
        except DataError as error:
            raise bad(f"Invalid request: {error}") from error
        self._check_terms(len(found))
        if (count := max((len(one.targets) for one in found.entries), default=0)) > self.alternatives:
            raise _large(f"{count:,} translations of a term, {self._hint()}")
        return found

    def _check_lines(self, lines: list[str]) -> None:
        """Raise ApiError for a glossary over the limits, before it is parsed."""
        if len(lines) > self.most:
            self._check_terms(sum(1 for line in lines if line.strip()))
        for number, line in enumerate(lines, start=1):
            if (count := line.count("|") + 1) > self.alternatives:
                raise _large(f"{count:,} translations in line {number}, {self._hint()}")

    def _check_terms(self, count: int) -> None:
        if count > self.most:
            raise _large(f"{count:,} terms, more than the limit of {self.most:,}: send only terms of the texts")

    def _hint(self) -> str:
        return f"more than the limit of {self.alternatives:,} for a term: send the likeliest"


def _large(problem: str) -> ApiError:
    return ApiError(413, f"the glossary has {problem}")


def with_term_uses(predictions: Sequence[Prediction], lines: Sequence[str]) -> list[Prediction]:
    """Return the predictions, each stored translation with its use of a glossary, and a warning of missing terms."""
    return with_stored_terms(predictions, Glossary.of_lines(lines)) if lines else [*predictions]


def term_counts(predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """Return how often each term of a glossary was found and used, in order of first occurrence."""
    counts = dict[str, dict[str, Any]]()
    for use in (use for one in predictions for use in one.details().get("terms", ())):
        new = {"source": use["source"], "targets": use["targets"], "found": 0, "used": 0}
        count = counts.setdefault(use["source"], new)
        count["found"] += 1
        count["used"] += use["used"]
    return list(counts.values())
