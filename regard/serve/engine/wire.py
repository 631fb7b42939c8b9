"""Between the server and the model's process: JSON, its length before it. No pickle.

Weights stand in it as their bytes: what an answer looked at is many numbers, and as digits they take ten times as long.
"""

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from regard.answers import ANSWERS
from regard.results import (
    AttentionMap,
    ColumnLink,
    Explanation,
    LexiconReport,
    Prediction,
    SearchNode,
    SearchTree,
    TermReport,
    TermUse,
    TokenRole,
    Tokens,
    TranslationFault,
)

HEAD = 8  # bytes that hold the length, the highest first

_KINDS = {kind.__name__: kind for row in ANSWERS.values() for kind in row.records}  # of answers
_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _KINDS.items()}
_EXPLANATION = tuple(field.name for field in fields(Explanation))


def packed(message: Mapping[str, Any]) -> bytes:
    """A message as it goes over the pipe. Lone surrogates stay what they are."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(HEAD, "big") + body


def unpacked(body: bytes) -> dict[str, Any]:
    """What stands behind the length. Raises ValueError for what is no JSON object."""
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ValueError("a message is a JSON object")
    return message


def heard(body: bytes) -> dict[str, Any]:
    """What a model's process says, its predictions read. Raises ValueError for what is no message."""
    message = unpacked(body)
    for answer in (*message.get("answers", ()), *message.get("counted", ())):
        if "prediction" in answer:
            answer["prediction"] = from_plain(answer["prediction"])
    return message


def to_plain(prediction: Prediction) -> dict[str, Any]:
    """A prediction as JSON values, nothing lost."""
    kind = type(prediction).__name__
    told = {"kind": kind, **{name: getattr(prediction, name) for name in _FIELDS[kind]}}
    told["alternatives"] = [to_plain(other) for other in prediction.alternatives]
    if prediction.explanation is not None:
        told["explanation"] = _plain_explanation(prediction.explanation)
    return told


def from_plain(told: Mapping[str, Any]) -> Prediction:
    """What `to_plain` was given."""
    values = dict(told)
    kind = _KINDS[values.pop("kind")]
    values["alternatives"] = [from_plain(other) for other in told["alternatives"]]
    if told.get("terms") is not None:
        uses, *rest = told["terms"]
        values["terms"] = TermReport([TermUse(*use) for use in uses], *rest)
    if told.get("lexicon") is not None:
        faults, usual = told["lexicon"]
        values["lexicon"] = LexiconReport([TranslationFault(*fault) for fault in faults], usual)
    if told.get("search") is not None:
        nodes, *rest = told["search"]
        values["search"] = SearchTree([SearchNode(*node) for node in nodes], *rest)
    if told["explanation"] is not None:
        values["explanation"] = _explanation_of(told["explanation"])
    return kind(**values)


def _plain_explanation(found: Explanation) -> dict[str, Any]:
    told = {name: getattr(found, name) for name in _EXPLANATION}
    told["links"] = [[*one[:3], _to_bytes(one.weights)] for one in found.links]
    told["maps"] = [{**vars(each), "weights": [_to_bytes(head) for head in each.weights]} for each in found.maps]
    told["reasons"] = {name: _plain_explanation(one) for name, one in found.reasons.items()}
    return told


def _explanation_of(told: Mapping[str, Any]) -> Explanation:
    found = dict(told)
    found["columns"] = {
        name: Tokens(texts, TokenRole(role), places or ()) for name, (texts, role, places) in found["columns"].items()
    }
    found["links"] = [
        ColumnLink(source, target, [(one, other) for one, other in pairs], _from_bytes(weights))
        for source, target, pairs, weights in found["links"]
    ]
    found["maps"] = [
        AttentionMap(**{**each, "weights": [_from_bytes(head) for head in each["weights"]]}) for each in found["maps"]
    ]
    found["reasons"] = {name: _explanation_of(one) for name, one in found["reasons"].items()}
    return Explanation(**found)


def _to_bytes(rows: Sequence[Sequence[float]]) -> list[Any]:
    """The lengths of the rows, and all their numbers one after the other."""
    numbers = array("d", chain.from_iterable(rows)).tobytes()
    return [[len(row) for row in rows], b64encode(numbers).decode("ascii")]


def _from_bytes(told: Sequence[Any]) -> list[list[float]]:
    lengths, encoded = told
    numbers = array("d", b64decode(encoded))
    rows, start = list[list[float]](), 0
    for length in lengths:
        rows.append(numbers[start : start + length].tolist())
        start += length
    return rows
