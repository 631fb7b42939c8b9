"""docs/settings.md and a page for each group beside it: type, default and meaning of every setting."""

import json
from collections.abc import Iterator
from pathlib import Path

from regard.experiment import PARTS
from regard.experiment.settings_help import Described, describe, settings_of
from regard.experiment.sizes import DATA_SIZES, MANY_PAIRS, SHORT_TRAINING, defaults_for
from regard.experiment.time_plan import FEW_EPOCHS, LONG_UPDATES, MIN_UPDATES, SHORT_UPDATES, WIDE_UPDATES
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
    "decoding": ("Decoding", ("decoding", "decoding.rerank", "decoding.consensus"), ("search", "feature", "adequacy")),
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
_TRANSFORMERS = ("model.encoder", "model.decoder")  # settings of their default part
_BY_PAIRS = "Defaults by the number of pairs"
_FEW = 1_000  # pairs, with which every setting is set that is set by their number
_WIDTH = 60  # characters of a default, beyond which it is left out

_INTRO = """# Settings

Made by `make docs` from the code; a test keeps it fresh. `regard help training.patience` says the same of one setting,
`regard help model.encoder.recurrent` of a part, and `regard schema` gives all of it as a JSON schema for editors.

A setting stands in a YAML file, or behind a command: `regard train config.yaml training.patience=5`. Where a part
stands, its name alone takes its defaults: `model.encoder=recurrent`. `model.encoder.hidden_dim=512` changes one.
"""


def settings_pages() -> dict[str, str]:
    """Return every page by its path from the root of the project."""
    index = [
        _INTRO,
        "## Common settings\n",
        *_common(),
        *_by_pairs(),
        "## All of a config\n",
        *_table(""),
        "## Pages\n",
    ]
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
    link = f"[by the pairs](#{_BY_PAIRS.lower().replace(' ', '-')})"
    for place in COMMON_SETTINGS:
        owner, _, name = place.rpartition(".")
        part = describe(owner)[1][0].default if owner in _TRANSFORMERS else ""
        one = describe(f"{owner}.{part}.{name}" if part else place)[1][0]
        default = f"{_default(one)}; {link}" if is_by_pairs(place) else _default(one)
        yield cells(code(place), prose(one.about), one.type, default)
    yield ""


def is_by_pairs(place: str) -> bool:
    """Return whether `regard train` sets a setting by the number of pairs, given two texts alone."""
    found: object = defaults_for(_FEW)
    for name in place.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found is not None


def _by_pairs() -> Iterator[str]:
    """The sizes that `regard train` takes of two texts."""
    yield f"### {_BY_PAIRS}\n"
    yield (
        "`regard train --source a --target b` takes these settings where neither the command nor a config gives them; "
        "with `--minutes` it takes the largest row that has enough updates in that time, prints it, and shortens the "
        f"warm-up. Enough are {LONG_UPDATES:,} from {MANY_PAIRS:,} pairs on, {WIDE_UPDATES:,} for wider networks, "
        f"{SHORT_UPDATES:,} for a "
        "short training of as many, whose rate falls in a line to 0 at the end of the time, and "
        f"{MIN_UPDATES:,} for the others; the dropout is 0.1 below {FEW_EPOCHS} epochs. Early stopping may end a "
        "training before its updates.\n"
    )
    heads = ("pairs", "text.tokenizer.size", "model.dim", "num_layers (each)", "feedforward_dim", "num_heads")
    yield cells(*heads, "model.dropout", "batch_tokens", "learning_rate", "warmup", "max_updates")
    yield "|---|" + "---:|" * 10
    for one in (*DATA_SIZES, SHORT_TRAINING):
        row = (one.pieces, one.dim, one.num_layers, one.feedforward_dim, one.num_heads, one.dropout)
        numbers = (*row, one.batch_tokens, one.learning_rate, one.warmup, one.updates)
        pairs = f"below {one.pairs:,}" if one.pairs else "a short training" if one is SHORT_TRAINING else "more"
        yield cells(pairs, *(f"{number:,}" for number in numbers))
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
