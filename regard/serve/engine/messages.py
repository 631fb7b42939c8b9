"""Between the server and the model's process: msgpack, its length before it. No pickle.

Both sides know the types of all that may come, so what is none of them is refused before anybody acts on it.
"""

import json
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from regard.answers import ANSWERS
from regard.results import Explanation, Prediction
from regard.serve.engine.questions import QuestionRow

HEAD = 8  # bytes that hold the length, the highest first

_KINDS = {kind.__name__: kind for row in ANSWERS.values() for kind in row.records}  # of answers


class Message(Struct, tag=True, kw_only=True):
    """A message of one side; an answer has the number of what it answers."""

    number: int | None = None


class Job(Message):
    """Load a run."""

    run: str
    threads: int
    batch_tokens: int
    changes: tuple[str, ...] = ()


class Warm(Message):
    """Do what is done only once."""


class CountTexts(Message):
    """Count what each text costs."""

    question: QuestionRow


class Batch(Message):
    """Answer a batch of a lane."""

    name: str
    lane: int
    question: QuestionRow
    most: float | None = None  # pieces that a text may cost, where nobody has counted them yet
    encoded: list[Any] | None = None  # the texts in pieces, where they have been counted


class Leave(Message):
    """Nobody waits for these texts of a batch any more."""

    batch: str
    rows: list[int]


class Carried:
    """A prediction on its way, of whatever kind."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction


class Found(Struct, tag=True):
    """An answer to a text."""

    prediction: Carried


class TextCost(Struct, tag=True):
    """The cost of a text, and its pieces, which the server passes on unread."""

    pieces: int
    encoded: Any = None


class Refused(Struct, tag=True):
    """Why a text has no answer."""

    kind: str  # "long", "costly", "pieces", "memory", "wrong" or "failed"
    told: Any = None  # [pieces, limit], the arguments of TooCostly, pieces, nothing, or the reason


class Loaded(Message):
    """The run is loaded: what there is to tell of its model along each route, the first one "" by name."""

    cards: dict[str, dict[str, Any]]


class Warmed(Message):
    """The fastest that it was, in pieces per second."""

    speed: float
    seconds: float = 0.0


class CountReply(Message):
    """The cost of each text, or its answer where it is only copied."""

    outcomes: list[TextCost | Found | Refused]


class BatchReply(Message):
    """A batch as it was worked on."""

    outcomes: list[Found | Refused]
    sizes: list[int] = []  # of the texts in pieces, their ends included, where they were counted
    out_of_memory: int = 0  # times that it had to be split
    seconds: float = 0.0


class Failure(Message):
    """Why there is no answer at all."""

    reason: str
    seconds: float = 0.0


class Beat(Message):
    """A sign of life: steps of each batch, and seconds of the processor."""

    steps: dict[str, int]
    cpu: float


ServerMessage = Job | Warm | CountTexts | Batch | Leave
Said = Loaded | Warmed | CountReply | BatchReply | Failure | Beat


def packed(message: Message) -> bytes:
    """A message as it goes over the pipe. A text with a lone surrogate, which is not UTF-8, makes it JSON."""
    try:
        body = msgspec.msgpack.encode(message, enc_hook=_plain)
    except UnicodeEncodeError:
        body = json.dumps(msgspec.to_builtins(message, enc_hook=_plain)).encode("ascii")
    return len(body).to_bytes(HEAD, "big") + body


def unpacked(body: bytes) -> ServerMessage:
    """Read a message of the server. Raises ValueError for what is no message."""
    return _read(body, ServerMessage)


def heard(body: bytes) -> Said:
    """Read a message of a model's process, with its predictions. Raises ValueError for what is no message."""
    return _read(body, Said)


def _read(body: bytes, kind: Any) -> Any:
    try:
        if body[:1] == b"{":  # of JSON; a message in msgpack begins with another byte
            return msgspec.convert(json.loads(body), kind, dec_hook=_carried)
        return msgspec.msgpack.decode(body, type=kind, dec_hook=_carried)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _plain(one: object) -> Any:
    if not isinstance(one, Carried):
        raise NotImplementedError(type(one).__name__)
    found = one.prediction
    others = [Carried(other) for other in found.alternatives]
    return [type(found).__name__, replace(found, alternatives=[]), others]


def _carried(_: type, told: Any) -> Carried:
    name, values, others = told
    found: Prediction = msgspec.convert(values, _KINDS[name])
    explanation = None if found.explanation is None else _without_empty_offsets(found.explanation)
    alternatives = [_carried(Carried, other).prediction for other in others]
    return Carried(replace(found, alternatives=alternatives, explanation=explanation))


def _without_empty_offsets(found: Explanation) -> Explanation:
    """An explanation as it was sent: offsets that are not known are no list."""
    columns = {name: one._replace(offsets=one.offsets or ()) for name, one in found.columns.items()}
    reasons = {name: _without_empty_offsets(one) for name, one in found.reasons.items()}
    return replace(found, columns=columns, reasons=reasons)
