"""docs/settings.md and a page for each group beside it: type, default and meaning of every setting."""

import json
from collections.abc import Iterator
from pathlib import Path

from regard.experiment import PARTS
from regard.experiment.settings_help import Described, describe, settings_of
from regard.registry import Registry
from regard.reports.table import cells, code, prose

SETTINGS_PAGE, SETTINGS_FOLDER = "docs/settings.md", "docs/settings"  # from the root of the project
_SOCKET = "model.attention"
_OTHERS = "methods"  # the page of kinds that no page below names
PAGES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {  # title, groups of a config, kinds of parts
    "data": ("Data", ("data", "data.recombination", "data.old"), ("reader", "augmentation", "transform")),
    "text": ("Text", ("text",), ("tokenizer",)),
    "model": (
        "Model",
        (),
        (
            *("model", "embedder", "position", "encoder", "decoder", "cell", "feedforward", "history", "norm"),
            *("pooling", "comparison", "fusion", "head", "tag_head"),
        ),
    ),
    "attention": ("Attention", (_SOCKET,), ("score", "span", "weighting")),
    "training": ("Training", ("training", "training.turns", "init"), ("optimizer", "schedule")),
    "objectives": ("Objectives", (), ("objective", "penalty", "posterior_feature", "reward")),
    "decoding": ("Decoding", ("decoding",), ("search", "feature", "adequacy")),
    "evaluation": ("Evaluation", ("evaluation",), ("metric",)),
    "task": ("Tasks", (), ("task",)),
    _OTHERS: ("Methods that commands take", (), ()),
}
TITLES = {"training.turns": "training.turns.NAME", _SOCKET: f"{_SOCKET} and model.self_attention"}
COMMON_SETTINGS = (  # the first of every group, and a table of their own
    *("run", "device", "data.train", "data.dev", "data.test", "data.max_length", "text.tokenizer"),
    *("model.dim", "model.dropout", "model.encoder.num_layers", "model.decoder.num_layers"),
    *("training.max_minutes", "training.max_updates", "training.max_epochs", "training.patience"),
    *("training.validate_every", "training.batch_tokens", "training.learning_rate", "training.schedule"),
    *("training.seed", "init.run", "decoding.search.size", "evaluation.metrics"),
)
_WIDTH = 60  # characters of a default, beyond which it is left out

_INTRO = """# Settings

Made by `make docs` from the code; a test keeps it fresh. `regard help training.patience` says the same of one setting,
`regard help model.encoder.recurrent` of a part, and `regard schema` gives all of it as a JSON schema for editors.

A setting stands in a YAML file, or behind a command: `regard train config.yaml training.patience=5`. Where a part
stands, its name alone takes its defaults: `model.encoder=recurrent`. `model.encoder.hidden_dim=512` changes one.
"""


def settings_pages() -> dict[str, str]:
    """Return every page by its path from the root of the project."""
    index = [_INTRO, "## Common settings\n", *_common(), "## All of a config\n", *_table(""), "## Pages\n"]
    pages = {}
    for name, (title, groups, kinds) in PAGES.items():
        lines = [f"# {title}\n"]
        for place in groups:
            heading, _ = describe(place)
            lines += [f"## {TITLES.get(place, place)}\n", f"{prose(heading)}\n", *_table(place)]
        for kind in _others() if name == _OTHERS else kinds:
            lines += _parts(kind, PARTS[kind])
        pages[f"{SETTINGS_FOLDER}/{name}.md"] = "\n".join(lines).rstrip() + "\n"
        index.append(f"- [{title}](settings/{name}.md): {', '.join([*groups, *kinds]) or ', '.join(_others())}")
    return {SETTINGS_PAGE: "\n".join(index) + "\n", **pages}


def write_settings_pages(root: Path) -> None:
    """Write the pages below the root of the project."""
    (root / SETTINGS_FOLDER).mkdir(parents=True, exist_ok=True)
    for name, text in settings_pages().items():
        (root / name).write_text(text, encoding="utf-8")


def _others() -> list[str]:
    """The kinds of parts that belong to no group of a config."""
    named = {kind for _, _, kinds in PAGES.values() for kind in kinds}
    return [kind for kind in PARTS if kind not in {*named, "layer"}]


def _common() -> Iterator[str]:
    yield from (cells("setting", "meaning", "type", "default"), "|---|---|---|---|")
    for place in COMMON_SETTINGS:
        one = describe(place)[1][0]
        yield cells(code(place), prose(one.about), one.type, _default(one))
    yield ""


def _table(place: str) -> Iterator[str]:
    """The settings of a group."""
    yield from (cells("setting", "meaning", "type", "default"), "|---|---|---|---|")
    for one in sorted(describe(place)[1], key=lambda one: one.place not in COMMON_SETTINGS):
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
