"""Mechanisms as they are named on a command line → settings of a socket."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from regard.config import deferred_warnings, parse_changes, read_settings
from regard.errors import ConfigError, Fault
from regard.models.settings import SOCKET_FIELDS, AttentionSettings

USUAL_MECHANISMS = ("dot", "scaled_dot", "additive", "multihead", "local_predictive")
_PLAIN = " (plain)"


class Mechanism(NamedTuple):
    """A row of the table."""

    name: str
    settings: AttentionSettings
    fast: bool = True  # False: with every fast path switched off


@dataclass(frozen=True)
class _Named:
    """Settings that a word may name."""

    attention: Annotated[AttentionSettings, SOCKET_FIELDS] = field(default_factory=AttentionSettings)


def mechanisms_of(words: Sequence[str], *, heads: int | None = None, with_plain: bool = False) -> list[Mechanism]:
    """`luong`, or settings with commas between them: `score=dot,span=window,span.radius=8`; both: `luong,span=causal`.

    A group as a config has it will do, too: `{name: luong, span: local_p}`. What a word leaves open is scaled_dot over
    everywhere by softmax with one head. `heads` replaces the heads of all; `with_plain` adds each with its fast paths
    off. Raises ConfigError of all that is wrong in any word, which is then the place; warns only where nothing is.
    """
    with deferred_warnings():
        found, faults = list[Mechanism](), list[Fault]()
        twice = [word for word in dict.fromkeys(words) if words.count(word) > 1]
        faults += (Fault(word, "is given twice", "each mechanism once") for word in twice)
        for word in words or USUAL_MECHANISMS:
            try:
                settings = read_settings(_Named, {"attention": _value(word)}).attention
            except ConfigError as error:
                faults += (placed(word, fault) for fault in error.faults)
                continue
            settings = settings if heads is None else replace(settings, num_heads=heads)
            found.append(Mechanism(word, settings))
            if with_plain:
                found.append(Mechanism(f"{word}{_PLAIN}", settings, fast=False))
        if faults:
            raise ConfigError.of(faults)
        return found


def placed(word: str, fault: Fault) -> Fault:
    """Return an error of an attention, placed at its word: `luong,score.x=1: score.x`."""
    where = fault.place.removeprefix("attention").removeprefix(".")
    return fault._replace(place=": ".join(filter(None, (word or repr(word), where))))


def _value(word: str) -> str | Mapping[str, Any]:
    if word.startswith("{"):
        group: Mapping[str, Any] = parse_changes([f"attention={word}"])["attention"]
        return group
    first, *rest = re.split(r",(?=[\w.]+=)", word)
    if "=" in first:
        return parse_changes([first, *rest])
    return {"name": first, **parse_changes(rest)} if rest else first
