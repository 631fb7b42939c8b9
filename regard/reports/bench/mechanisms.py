"""Mechanisms as they are named on a command line → settings of a socket."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from regard.config import parse_changes, read_settings
from regard.errors import ConfigError, Fault
from regard.experiment.settings import SOCKET
from regard.models.settings import AttentionSettings
from regard.reports.bench.passes import Mechanism

USUAL = ("dot", "scaled_dot", "additive", "multihead", "local_predictive")
PLAIN = " (plain)"


@dataclass(frozen=True)
class _Named:
    """What a word may say."""

    attention: Annotated[AttentionSettings, SOCKET] = field(default_factory=AttentionSettings)


def mechanisms_of(words: Sequence[str], *, heads: int | None = None, with_plain: bool = False) -> list[Mechanism]:
    """`luong`, or settings with commas between them: `score=dot,span=window,span.radius=8`; both: `luong,span=causal`.

    What a word leaves open is scaled_dot over everywhere by softmax with one head. `heads` replaces the heads of all;
    `with_plain` adds each with its fast paths off. Raises ConfigError of all that is wrong in any word.
    """
    found, faults = list[Mechanism](), list[Fault]()
    twice = [word for word in dict.fromkeys(words) if words.count(word) > 1]
    faults += (Fault(word, "is given twice", "each mechanism once") for word in twice)
    for word in words or USUAL:
        try:
            settings = read_settings(_Named, {"attention": _value(word)}).attention
        except ConfigError as error:
            faults += (fault._replace(place=f"{word or repr(word)}: {fault.place}") for fault in error.faults)
            continue
        settings = settings if heads is None else replace(settings, num_heads=heads)
        found.append(Mechanism(word, settings))
        if with_plain:
            found.append(Mechanism(f"{word}{PLAIN}", settings, fast=False))
    if faults:
        raise ConfigError.of(faults)
    return found


def _value(word: str) -> str | Mapping[str, Any]:
    first, *rest = re.split(r",(?=[\w.]+=)", word)
    if "=" in first:
        return parse_changes([first, *rest])
    return {"name": first, **parse_changes(rest)} if rest else first
