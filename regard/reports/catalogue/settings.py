"""docs/settings.md: every setting of a config with its type, default and meaning, made by `make docs`."""

import json
from collections.abc import Iterator
from pathlib import Path

from regard.experiment import PARTS
from regard.experiment.settings_help import Described, describe, settings_of
from regard.registry import Registry
from regard.reports.table import cells, code, prose

SETTINGS_PAGE = "docs/settings.md"  # from the root of the project
GROUPS = ("data", "data.recombination", "text", "training", "training.turns", "decoding", "evaluation", "init")
_SOCKET = "model.attention"
_WIDTH = 60  # characters of a default, beyond which it is left out

_INTRO = """# Settings

Made by `make docs` from the code; a test keeps it fresh. `regard help training.patience` says the same of one setting,
`regard help model.encoder.recurrent` of a part, and `regard schema` gives all of it as a JSON schema for editors.

A setting stands in a YAML file, or behind a command: `regard train config.yaml training.patience=5`. Where a part
stands, its name alone takes its defaults: `model.encoder=recurrent`. `model.encoder.hidden_dim=512` changes one.
"""


def settings_page() -> str:
    """The whole page."""
    lines = [_INTRO, "## All of a config\n", *_table("")]
    for place in GROUPS:
        heading, _ = describe(place)
        name = f"{place}.NAME" if place == "training.turns" else place
        lines += [f"## {name}\n", f"{prose(heading)}\n", *_table(place)]
    lines += [f"## {_SOCKET} and model.self_attention\n", *_table(_SOCKET)]
    for kind, table in PARTS.items():
        if kind != "layer":
            lines += _parts(kind, table)
    return "\n".join(lines).rstrip() + "\n"


def write_settings_page(root: Path) -> None:
    """Write the page below the root of the project."""
    (root / SETTINGS_PAGE).write_text(settings_page(), encoding="utf-8")


def _table(place: str) -> Iterator[str]:
    """The settings of a group."""
    yield from (cells("setting", "meaning", "type", "default"), "|---|---|---|---|")
    for one in describe(place)[1]:
        name = one.place.removeprefix(place).removeprefix(".")
        yield cells(code(name), prose(one.about), one.type, _default(one))
    yield ""


def _parts(kind: str, table: Registry[object]) -> Iterator[str]:
    """The settings of every part of a kind, in one table."""
    rows = {name: settings_of(name, table.settings(name)) for name in sorted(table)}
    bare = [code(name) for name, found in rows.items() if not found]
    yield f"## Part: {kind}\n"
    if len(bare) < len(rows):
        yield from (cells("part", "setting", "meaning", "type", "default"), "|---|---|---|---|---|")
    for name, found in rows.items():
        for one in found:
            yield cells(code(name), code(one.place), prose(one.about), one.type, _default(one))
    yield ""
    if bare:
        yield f"Without settings: {', '.join(bare)}.\n"


def _default(one: Described) -> str:
    if one.required:
        return "must be given"
    text = json.dumps(one.default, ensure_ascii=False)
    return code(text) if len(text) <= _WIDTH else "see the group"
