"""For schemathesis: half of what it makes up asks for languages that are served, and so comes past the first checks."""

import itertools
from typing import Any

import schemathesis

_turns = itertools.count()
_PAIRS = [("en", "de"), ("auto", "de"), ("de", "de"), ("EN", "de")]
_FORCED = ("source_text", "target_text")
_TEXTS = {"/v1/explain": _FORCED, "/v1/alternatives": _FORCED, "/suggest": ("q", "s")}


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Languages and texts of each second question."""
    turn = next(_turns)
    if isinstance(body, dict) and turn % 2:
        source, target = _PAIRS[turn // 2 % len(_PAIRS)]
        texts = {name: body.get(name) or "Hello" for name in _TEXTS.get(context.operation.path, ("q",))}
        body = {**body, **texts, "source": source, "target": target}
        body.pop("model", None)
    return body
