"""Questions to a model: a row for each kind, with its texts, its cost in pieces and how a model answers it.

A new question is a row here, named in the union QuestionRow, and an endpoint. A question's `cost` is counted before it
is accepted: pieces that a model reads and writes in the time of one. By it texts choose their lane, fill batches, and
are refused. `GET /v1/limits` tells the limits. Nothing here needs torch: rows are made by the server, and run by a
model's process.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from regard.documents.glossary import Glossary
from regard.errors import DataError
from regard.results import Prediction
from regard.text.clean import clean

if TYPE_CHECKING:
    from regard.decoding import Unwanted
    from regard.serve.engine.answering import Answered, Answering
    from regard.tasks import Task
    from regard.tasks.example_texts import Ids

PIECE_BYTES = 3  # bytes: pieces of European words have more, a Chinese character has as many
BEAM = 4  # hypotheses of a usual search; more of them cost more
BANKS, MOST_BANKS = 8, 32  # terms that widen a beam as much as BEAM does; terms that widen it
PASSES = 4  # a method of explanation, beside a pass that scores; a search with its steps
MAPS = 2  # keeping all that every attention looked at
SHORT_PIECES = 40  # pieces of a text in the shortest lane

MAX_PREFIX = 1000  # pieces of a prefix
MAX_EXPLAINED = 512  # pieces of a source and a given target: each word of one is weighed for each of the other
MAX_METHODS = 8  # of one explanation
GLOSSARIES = 16  # of the last requests

TOO_SLOW = "the explanation took longer than a request may"


class Pair(NamedTuple):
    """A line as `predict` takes it, and a target that is given."""

    source: str
    target: str


class Kept(NamedTuple):
    """Terms and prefix that translations have to keep."""

    glossary: Glossary | None = None
    prefix: int = 0  # pieces

    def terms(self, source: str) -> list[int]:
        """The pieces of each term that stands in a source, about."""
        found = [] if self.glossary is None else self.glossary.found(source)
        return [math.ceil(len(one.entry.targets[0].encode()) / PIECE_BYTES) for one in found]


class Question(Struct, frozen=True, tag=True):
    """Texts, and what is wanted of each. Texts of questions that are equal otherwise may share a batch."""

    late: ClassVar[str | None] = None  # the fault of one not answered in time; None: only waiting takes its time
    most: ClassVar[float] = math.inf  # pieces of a text in all its columns

    texts: tuple[Any, ...]
    route: str = ""  # the pair of languages, for a model of several; "": its first one

    @property
    def width(self) -> int:
        """Answers to each text."""
        return 1

    @property
    def less(self) -> str:
        """Advice for a client whose answer is too large."""
        return "less text at a time, or without explain"

    @property
    def guess(self) -> int | None:
        """About how many pieces a short text costs that comes alone; None: they must be counted first."""
        return None

    def of(self, texts: Iterable[Any]) -> Self:
        """The same of other texts; of none it is what texts of one batch have in common."""
        return replace(self, texts=tuple(texts))

    def characters(self, text: Any) -> int:
        """The length of a text in all its columns."""
        return len(text)

    def read(self, task: "Task", text: Any) -> Mapping[str, str]:
        """The example that a text stands for. Raises DataError where it stands for none."""
        raise NotImplementedError

    def copied(self, task: "Task", example: Mapping[str, str]) -> Prediction | None:
        """The answer to an example that no model reads; None: one does."""
        return None

    def kept(self, encode: Callable[[str], Sequence[int]]) -> Kept:
        """Return what each answer has to keep. Raises DataError where that is too much."""
        return Kept()

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """The cost of a text whose columns have these lengths in pieces; of what is kept prefix and terms are told."""
        raise NotImplementedError

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """The answers of a model. Texts that are `unwanted` meanwhile are given up; `encoded` are their pieces."""
        raise NotImplementedError


class Predict(Question, frozen=True):
    """A question for the model's answers to texts."""

    texts: tuple[str, ...]
    n_best: int = 1
    explain: bool = False  # alignment and weights
    maps: bool = False  # and all that every attention looked at
    glossary: tuple[str, ...] = ()  # lines of terms to keep
    prefix: str = ""  # what answers begin with

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
        """By the bytes of the text. The model's process counts again: what is too long for its lane comes back."""
        if len(self.texts) > 1 or self.prefix or self.glossary:
            return None
        size = self.cost([math.ceil(len(self.texts[0].encode(errors="replace")) / PIECE_BYTES)])
        return size if size <= SHORT_PIECES else None

    def read(self, task: "Task", text: str) -> Mapping[str, str]:
        return task.texts.given(text)

    def copied(self, task: "Task", example: Mapping[str, str]) -> Prediction | None:
        """The answer to a text in a script that training never saw."""
        return task.texts.unanswerable(example)

    def kept(self, encode: Callable[[str], Sequence[int]]) -> Kept:
        prefix = len(encode(clean(self.prefix))) if self.prefix else 0
        if prefix > MAX_PREFIX:
            raise DataError(
                "target_prefix", f"{prefix:,} pieces are more than {MAX_PREFIX:,}", hint="give a shorter one"
            )
        return Kept(glossary_of(self.glossary), prefix)

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """Pieces with those to keep, times the width of the beam."""
        width = math.ceil(self.n_best / BEAM) + math.ceil(min(len(terms), MOST_BANKS) / BANKS)
        return (max(lengths, default=0) + prefix + sum(terms)) * width * (MAPS if self.maps else 1)

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """Return what the search of the run finds; with n_best > 1 the rest of the n best as alternatives."""
        return answering.predict(self, glossary_of(self.glossary), unwanted, encoded)


class _Forced(Question, frozen=True):
    """A question on targets that are given."""

    late, most = TOO_SLOW, MAX_EXPLAINED

    texts: tuple[Pair, ...]

    def characters(self, text: Any) -> int:
        return len(text.source) + len(text.target)

    def read(self, task: "Task", text: Pair) -> Mapping[str, str]:
        return task.texts.scored(clean(text.source), clean(text.target))


class Explain(_Forced, frozen=True):
    """Which words speak for given targets? They are scored, with all that they look at."""

    by: str = ""  # the method that weighs their words; "": what they looked at
    reasons: tuple[str, ...] = ()  # methods whose weights are wanted beside that
    steps: bool = False  # and what the search of each source held and dropped at each step

    @property
    def less(self) -> str:
        return "one sentence at a time, or without maps"

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """A pass, and several for each method."""
        methods = len(self.reasons) + bool(self.by) + self.steps
        return sum(lengths) * (1 + PASSES * methods) if methods else max(lengths, default=0)

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """The given targets, scored and explained: by what they looked at, or by a method; by others beside that."""
        explained = functools.partial(answering.explained, by=self.by, reasons=self.reasons, steps=self.steps)
        return answering.each(self.texts, explained, unwanted, encoded)


class Alternatives(_Forced, frozen=True):
    """Which other words may stand in place of one of given targets, and how does each go on from there?"""

    word: int = 0
    count: int = 1  # of other words, at most

    @property
    def width(self) -> int:
        return self.count

    def cost(self, lengths: Sequence[int], *, prefix: int = 0, terms: Sequence[int] = ()) -> int:
        """A search for each word."""
        return sum(lengths) * self.count

    def run(self, answering: "Answering", unwanted: "Unwanted", encoded: "Sequence[Ids] | None") -> "Answered":
        """The given targets, each with alternatives that have another word in place of one and are explained."""
        rewritten = functools.partial(answering.rewritten, word=self.word, count=self.count)
        return answering.each(self.texts, rewritten, unwanted, encoded)


QuestionRow = Predict | Explain | Alternatives  # as they come over the wire


@functools.lru_cache(GLOSSARIES)
def glossary_of(lines: tuple[str, ...]) -> Glossary | None:
    """The terms of a request, whose batches have the same."""
    return Glossary.of_lines(lines) if lines else None
