"""Messages between the server and the model's process: length-prefixed msgpack. No pickle.

Both sides know the types of all messages and reject any other before it is handled.
"""

import json
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from regard.answers import ANSWERS
from regard.results import Explanation, Prediction
from regard.serve.engine.questions import QuestionRow

HEAD = 8  # bytes of the length, big-endian

_KINDS = {kind.__name__: kind for row in ANSWERS.values() for kind in row.records}  # of answers


class Message(Struct, tag=True, kw_only=True):
    """A message of one side; an answer repeats the number of its request."""

    number: int | None = None


class Job(Message):
    """Load a run."""

    run: str
    threads: int
    batch_tokens: int
    changes: tuple[str, ...] = ()
    engine: str | None = None  # of an export


class Warm(Message):
    """Warm up."""


class CountTexts(Message):
    """Count the tokens of each text."""

    question: QuestionRow


class Batch(Message):
    """Answer a batch of a lane."""

    name: str
    lane: int
    question: QuestionRow
    most: float | None = None  # maximum tokens of a text that is not yet counted
    encoded: list[Any] | None = None  # the texts in tokens, if they were counted


class Leave(Message):
    """Mark texts of a batch as unwanted."""

    batch: str
    rows: list[int]


class Carried:
    """A prediction of any kind, serialized."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction


class Found(Struct, tag=True):
    """An answer to a text."""

    prediction: Carried


class TextCost(Struct, tag=True):
    """The cost of a text, and its tokens, which the server passes on unread."""

    pieces: int
    encoded: Any = None


class Refused(Struct, tag=True):
    """Reason of a text without an answer."""

    kind: str  # "long", "costly", "pieces", "memory", "wrong" or "failed"
    details: Any = None  # [pieces, limit], the arguments of TooCostly, pieces, nothing, or the reason


class Shortcut(Struct):
    """Library and settings with which the server searches short texts itself."""

    library: str  # file of the compiled engine
    rules: dict[str, Any]  # `SearchRules`
    pieces: int  # of a source, at most


class Loaded(Message):
    """The run is loaded: the model card of each route by name, the first one ""."""

    cards: dict[str, dict[str, Any]]
    shortcut: Shortcut | None = None  # None: each answer takes the model's process


class Warmed(Message):
    """Warmed up: the highest speed, in tokens per second."""

    speed: float
    seconds: float = 0.0


class CountReply(Message):
    """The cost of each text, or its answer if it is only copied."""

    outcomes: list[TextCost | Found | Refused]


class BatchReply(Message):
    """Results of a batch."""

    outcomes: list[Found | Refused]
    sizes: list[int] = []  # of the texts in tokens with their ends, if they were counted
    out_of_memory: int = 0  # splits of the batch
    seconds: float = 0.0


class Failure(Message):
    """Reason of a request without any answer."""

    reason: str
    seconds: float = 0.0


class Beat(Message):
    """Heartbeat: steps of each batch, and processor seconds."""

    steps: dict[str, int]
    cpu: float


ServerMessage = Job | Warm | CountTexts | Batch | Leave
Said = Loaded | Warmed | CountReply | BatchReply | Failure | Beat


def packed(message: Message) -> bytes:
    """Return a message as bytes. A text with a lone surrogate, which is not UTF-8, makes it JSON."""
    try:
        body = msgspec.msgpack.encode(message, enc_hook=_plain)
    except UnicodeEncodeError:
        body = json.dumps(msgspec.to_builtins(message, enc_hook=_plain)).encode("ascii")
    return len(body).to_bytes(HEAD, "big") + body


def unpacked(body: bytes) -> ServerMessage:
    """Read a message of the server. Raises ValueError for an invalid one."""
    return _read(body, ServerMessage)


def heard(body: bytes) -> Said:
    """Read a message of a model's process, with its predictions. Raises ValueError for an invalid one."""
    return _read(body, Said)


def _read(body: bytes, kind: Any) -> Any:
    try:
        if body[:1] == b"{":  # JSON; msgpack begins with another byte
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


def _carried(_: type, item: Any) -> Carried:
    name, values, others = item
    found: Prediction = msgspec.convert(values, _KINDS[name])
    explanation = None if found.explanation is None else _without_empty_offsets(found.explanation)
    alternatives = [_carried(Carried, other).prediction for other in others]
    return Carried(replace(found, alternatives=alternatives, explanation=explanation))


def _without_empty_offsets(found: Explanation) -> Explanation:
    """Return an explanation with unknown offsets as (), as the server expects them."""
    columns = {name: one._replace(offsets=one.offsets or ()) for name, one in found.columns.items()}
    reasons = {name: _without_empty_offsets(one) for name, one in found.reasons.items()}
    return replace(found, columns=columns, reasons=reasons)
