"""Questions to a model: a row for each kind, with its texts, its cost in tokens and its method of a model.

A new question is a row here, a member of the union QuestionRow, and an endpoint. The `cost` of a question is computed
before admission, as the number of tokens that a model reads and writes in the same time. It decides lane, batch and
refusal. `GET /v1/limits` reports the limits. This module needs no torch: the server makes the rows, and a model's
process runs them.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from regard.documents.glossary import Glossary
from regard.errors import DataError
from regard.results import MemoryMatch, Prediction
from regard.text.clean import clean

if TYPE_CHECKING:
    from regard.decoding import Unwanted
    from regard.serve.engine.answering import Answered, Answering
    from regard.tasks import Task
    from regard.tasks.example_texts import Ids

PIECE_BYTES = 3  # bytes: tokens of European words have more, a Chinese character has 3
BEAM = 4  # usual beam size; a larger beam costs more
BANKS, MOST_BANKS = 8, 32  # terms that cost as much as one BEAM; maximum that counts
PASSES = 4  # cost of an attribution method, in forward passes; of a recorded search
MAPS = 2  # cost of keeping all attention weights, in forward passes
SHORT_PIECES = 40  # pieces of a text in the shortest lane

MAX_PREFIX = 1000  # pieces of a prefix
MAX_EXPLAINED = 512  # pieces of source, its context and given target: the cost grows with their product
MAX_METHODS = 8  # of one explanation
GLOSSARIES = 16  # of the latest requests, cached

TOO_SLOW = "the explanation exceeded the time limit of a request"


Similar = tuple[MemoryMatch, ...]  # segments of a translation memory that a model reads with a text


class GivenText(NamedTuple):
    """A line as `predict` takes it, a given target, and segments of a translation memory that are like it."""

    source: str
    target: str = ""
    similar: Similar = ()


class Kept(NamedTuple):
    """Terms and prefix that a translation must contain."""

    glossary: Glossary | None = None
    prefix: int = 0  # pieces

    def terms(self, source: str) -> list[int]:
        """Return the estimated pieces of each term that occurs in a source."""
        found = [] if self.glossary is None else self.glossary.found(source)
        return [_estimated(one.entry.targets[0]) for one in found]


class Question(Struct, frozen=True, tag=True):
    """Texts, and the outputs requested for each. Texts of otherwise equal questions may share a batch."""

    late: ClassVar[str | None] = None  # error after the time limit; None: the limit covers waiting only
    most: ClassVar[float] = math.inf  # pieces of a text in all its columns

    texts: tuple[GivenText, ...]
    route: str = ""  # the pair of languages, for a model of several; "": its first one

    @property
    def width(self) -> int:
        """Number of answers to each text."""
        return 1

    @property
    def less(self) -> str:
        """Advice for a client whose answer is too large."""
        return "less text at a time, or without explain"

    @property
    def guess(self) -> int | None:
        """Return the estimated cost of a single short text; None: it must be counted first."""
        return None

    def of(self, texts: Iterable[GivenText]) -> Self:
        """Return the same question of other texts; without texts it is the key of a batch."""
        return replace(self, texts=tuple(texts))

    def read(self, task: "Task", text: GivenText) -> Mapping[str, str]:
        """Return the example of a text. Raises DataError for an invalid one."""
        raise NotImplementedError

    def copied(self, task: "Task", example: Mapping[str, str]) -> Prediction | None:
        """Return the answer to an example that the model need not read; None: it must."""
        return None

    def kept(self, encode: Callable[[str], Sequence[int]]) -> Kept:
        """Return the constraints of each answer. Raises DataError if they are too large."""
        return Kept()

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """Return the cost of a text with these lengths of columns in pieces, and with a prefix and terms."""
        raise NotImplementedError

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """Return the answers of a model. `unwanted` texts are dropped; `encoded` are their pieces."""
        raise NotImplementedError


class Predict(Question, frozen=True):
    """Predict answers to texts."""

    n_best: int = 1
    explain: bool = False  # alignment and weights
    maps: bool = False  # and the weights of every attention
    glossary: tuple[str, ...] = ()  # lines of terms
    prefix: str = ""  # prefix of each answer

    @classmethod
    def lines(cls, texts: Iterable[str], **fields: Any) -> Self:
        """Return the question of lines alone."""
        return cls(tuple(map(GivenText, texts)), **fields)

    @property
    def width(self) -> int:
        return self.n_best

    @property
    def less(self) -> str:
        if self.maps:
            return "one sentence at a time, or without maps"
        if self.explain:
            return super().less
        return f"less text at a time{', or for fewer of the n_best' if self.n_best > 1 else ''}"

    @property
    def guess(self) -> int | None:
        """Estimate by the bytes of the text. The model's process counts; a text too long for its lane is returned."""
        if len(self.texts) > 1 or self.prefix or self.glossary or self.texts[0].similar:
            return None
        size = self.cost([_estimated(self.texts[0].source)])
        return size if size <= SHORT_PIECES else None

    def read(self, task: "Task", text: GivenText) -> Mapping[str, str]:
        return task.texts.given(text.source)

    def copied(self, task: "Task", example: Mapping[str, str]) -> Prediction | None:
        """Return the answer to a text in a script outside the training data."""
        return task.texts.unanswerable(example)

    def kept(self, encode: Callable[[str], Sequence[int]]) -> Kept:
        prefix = len(encode(clean(self.prefix))) if self.prefix else 0
        if prefix > MAX_PREFIX:
            raise DataError(
                "target_prefix", f"{prefix:,} pieces are more than {MAX_PREFIX:,}", hint="give a shorter one"
            )
        return Kept(glossary_of(self.glossary), prefix)

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """Return the pieces with constraints, times the width of the beam."""
        width = math.ceil(self.n_best / BEAM) + math.ceil(min(len(terms), MOST_BANKS) / BANKS)
        return (max(lengths, default=0) + prefix + sum(terms)) * width * (MAPS if self.maps else 1)

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """Return the results of the run's search; with n_best > 1 the rest of the n best as alternatives."""
        return answering.predict(self, glossary_of(self.glossary), unwanted, encoded)


class _Forced(Question, frozen=True):
    """A question on given targets."""

    late, most = TOO_SLOW, MAX_EXPLAINED

    def read(self, task: "Task", text: GivenText) -> Mapping[str, str]:
        return task.texts.scored(clean(text.source), clean(text.target))


class Explain(_Forced, frozen=True):
    """Score given targets, and explain them by attention or attribution."""

    method: str = ""  # attribution method; "": attention
    reasons: tuple[str, ...] = ()  # further attribution methods
    steps: bool = False  # and the hypotheses kept and dropped at each step of a search

    @property
    def less(self) -> str:
        return "one sentence at a time, or without maps"

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """Return the cost: a forward pass, and several for each method."""
        methods = len(self.reasons) + bool(self.method) + self.steps
        return sum(lengths) * (1 + PASSES * methods) if methods else max(lengths, default=0)

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """Return the given targets, scored and explained: by attention or by `method`, and by further methods."""
        explained = functools.partial(answering.explained, method=self.method, reasons=self.reasons, steps=self.steps)
        return answering.each(self.texts, explained, unwanted, encoded)


class Alternatives(_Forced, frozen=True):
    """Find other words in place of one of given targets, and the continuation after each."""

    word: int = 0
    count: int = 1  # of other words, at most

    @property
    def width(self) -> int:
        return self.count

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """Return the cost: a search for each word."""
        return sum(lengths) * self.count

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """Return the given targets, each with explained alternatives that have another word in one place."""
        rewritten = functools.partial(answering.rewritten, word=self.word, count=self.count)
        return answering.each(self.texts, rewritten, unwanted, encoded)


def context_of(similar: Similar) -> int:
    """Return the estimated pieces of segments that a model reads with a text."""
    return sum(_estimated(one.target) + 1 for one in similar)


def _estimated(text: str) -> int:
    return math.ceil(len(text.encode(errors="replace")) / PIECE_BYTES)


QuestionRow = Predict | Explain | Alternatives  # as sent over the wire


@functools.lru_cache(GLOSSARIES)
def glossary_of(lines: tuple[str, ...]) -> Glossary | None:
    """Return the terms of a request; its batches share them."""
    return Glossary.of_lines(lines) if lines else None
