"""Between the server and the model's process: JSON, its length before it. No pickle."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from regard.results import AttentionMap, Explanation, Prediction

HEAD = 8  # bytes that hold the length, the highest first

_PREDICTION = tuple(field.name for field in fields(Prediction))
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


def to_plain(prediction: Prediction) -> dict[str, Any]:
    """A prediction as JSON values, nothing lost."""
    told = {name: getattr(prediction, name) for name in _PREDICTION}
    told["alternatives"] = [to_plain(other) for other in prediction.alternatives]
    found = prediction.explanation
    if found is not None:
        told["explanation"] = {name: getattr(found, name) for name in _EXPLANATION}
        told["explanation"]["maps"] = [vars(each) for each in found.maps]
    return told


def from_plain(told: Mapping[str, Any]) -> Prediction:
    """What `to_plain` was given."""
    values = dict(told)
    values["alternatives"] = [from_plain(other) for other in told["alternatives"]]
    if told["explanation"] is not None:
        found = dict(told["explanation"])
        found["alignment"] = [(source, target) for source, target in found["alignment"]]
        found["maps"] = [AttentionMap(**each) for each in found["maps"]]
        values["explanation"] = Explanation(**found)
    return Prediction(**values)
