"""Descriptions of all parts as plain values, for people and editors."""

from collections.abc import Mapping
from typing import Any

from regard.experiment import docstrings
from regard.experiment.names import names_of
from regard.experiment.settings_help import settings_of
from regard.experiment.tables import PARTS, SOCKET_KINDS
from regard.registry import Registry

USES = ("cross", "encoder", "decoder")  # model.attention; model.self_attention of an encoder and of a decoder


def catalogue(tables: Mapping[str, Registry[Any]] = PARTS) -> dict[str, dict[str, dict[str, Any]]]:
    """Return kind → name → description of a part, as plain values.

    "about" a sentence, "formula" its first line, "paper" a link or None, "cost" or None, "aliases" other names,
    "place" in a config, "settings": {setting: {"type", "default" unless it must be given}}; of parts of a
    socket also "uses", some of USES, and "notes" on their limits.
    """
    return {kind: {name: _row(kind, table, name) for name in sorted(table)} for kind, table in tables.items()}


def _row(kind: str, table: Registry[Any], name: str) -> dict[str, Any]:
    part: Any = table[name]
    return {
        "about": docstrings.sentence(part),
        "formula": docstrings.formula(part),
        "paper": docstrings.paper(part),
        "cost": docstrings.cost(part),
        "aliases": names_of(kind, name),
        "place": table.place,
        **(_use(part) if kind in SOCKET_KINDS else {}),
        "settings": {
            one.place: {"type": one.type} | ({} if one.required else {"default": one.default})
            for one in settings_of(name, table.settings(name))
        },
    }


def _use(part: Any) -> dict[str, Any]:
    """Return the possible uses of a part of a socket, and notes, from its flags."""
    notes = {
        "one query at a time": part.sequential,
        "needs the whole source": part.whole,
        "counts places": getattr(part, "by_place", False),
    }
    uses = [use for use in USES if not (use == "decoder" and part.whole)]
    return {"uses": uses, "notes": [note for note, holds in notes.items() if holds]}
