"""docs/catalogue.md, a page for each kind and its pictures, out of the tables and docstrings: `make docs`."""

import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any

from regard.aliases import aliases_of
from regard.attention.recipes import RECIPES, as_yaml
from regard.experiment import MECHANISMS, NETWORKS, PARTS, TABLES, Experiment, catalogue, load_experiment
from regard.experiment.catalogue import USES
from regard.experiment.docstrings import COST_LETTERS, body, formula
from regard.experiment.names import AMBIGUOUS, others
from regard.experiment.tables import SOCKET_KINDS
from regard.layers.positions import Position
from regard.registry import Choice
from regard.reports.catalogue.drawings import draw, effects
from regard.reports.table import cells, code, prose

_Row = tuple[str, str]  # kind and name

CATALOGUE_PAGE, CATALOGUE_FOLDER = (
    "docs/catalogue.md",
    "docs/catalogue",
)  # from the root of the project; pages and pictures
_SHOWN = {"position": "the features of {}", "penalty": "where {} pulls"}  # by a picture; else what is looked at
_CONFIGS, _FEW = "configs", 4  # a part that more configs have than a few is a default
_OTHERWISE = {("tagger", "head"): "tag_head"}  # kinds that a model has under the name of another one

KIND_TITLES = {
    "score": "Scores: how well a query and a key match",
    "span": "Spans: what may be looked at",
    "weighting": "Weightings: how scores become weights",
    "pooling": "Poolings: how a text becomes one vector, or a few",
    "penalty": "Penalties: what an objective adds to the loss for where a model looks",
    "position": "Positions: where a word stands",
    "encoder": "Encoders: what reads a source",
    "decoder": "Decoders: what writes a target, or a text of its own",
    "cell": "Cells: layers of recurrent encoders and decoders",
    "feedforward": "Feed-forwards: what follows attention in a block",
    "history": "Histories: what a block knows its own words by in place of attention",
    "norm": "Norms: of the states in a block of convolutions",
    "comparison": "Comparisons: what two texts have in common",
    "fusion": "Fusions: what a passage knows of the question",
    "tag_head": "Heads of taggers: from the states of words to a tag for each",
}
CONFIG_PLACES = {  # where a config names one
    "encoder": "model.encoder",
    "decoder": "model.decoder",
    "cell": "model.encoder.cell",
    "feedforward": "model.encoder.feedforward",
    "history": "model.decoder.history",
    "norm": "model.encoder.norm",
    "comparison": "model.comparison",
    "fusion": "model.fusion",
    "tag_head": "model.head",
}
HIDDEN = {
    "score": "a hidden key is scored like any other; its weight is zero whatever the score",
    "weighting": "exactly zero where hidden; a query that sees no key gets zeros, and finite gradients",
    "pooling": "what stands under padding changes nothing; a text of no words gives zeros, and finite gradients",
    "penalty": "what a query of padding looks at costs nothing",
    "position": "none: a place has its vector whatever stands there, and padding stands behind the words",
}
SHAPED = {
    "score": ("prepare", "forward"),
    "span": ("view_at",),
    "weighting": ("forward",),
    "pooling": ("forward",),
    "penalty": ("of_one",),
    **dict.fromkeys(NETWORKS, ("forward",)),
}
AROUND = """## Networks

Any encoder goes under any decoder; [mixing architectures](how-to/architectures.md) tells what must agree.
"""
CONTRACTS = {"position": Position.forward}  # whose rows say no more of shapes than that

_INTRO = f"""# Catalogue

Made by `make docs` from the tables and docstrings of the code; a test keeps it fresh: of attention, of which
`regard list attention` shows the same in a terminal, and of the [networks](catalogue/encoder.md) around it.

An attention is a *socket* into which a score, a span and a weighting are put, in any combination:

```text
context_i = sum_j weights_ij value_j        weights = weighting(score(query_i, key_j)) over what the span shows
```

```yaml
model:
  attention: {{score: additive, span: local_predictive, weighting: sparsemax, num_heads: 1}}  # of a decoder
  self_attention: {{score: scaled_dot, span: {{name: window, radius: 8}}, num_heads: 4}}  # of a transformer
```

A name of the literature in place of the group stands for some of these settings (`attention: bahdanau`); see
[all names](#all-names). Shapes: leading axes are open, so `...` is a batch, heads, or nothing at all. Cost is time for
one sentence of {COST_LETTERS}. A part can be
used in `model.attention` ("cross"), and in `model.self_attention` of an encoder and of a decoder, whose words come one
by one.

Pictures: a row is a word that is written, a column a word it looks at; darker is more. Each is drawn from a forward
pass of a tiny socket on one sentence. What a score or a span can learn it has learned on this very sentence in a few
steps; spans and weightings stand beside the `dot` score. Spans by place are shown on a text that looks at itself.
Orange with a bar is below zero. A position shows its features, a row for each place. A penalty shows where it pulls the
weights of an example: what is below zero is made smaller.
"""


def pages(root: Path) -> dict[str, str]:
    """Every file by its path from the root of the project, where configs are looked for."""
    kinds = catalogue(MECHANISMS)
    pictures = {
        _picture(kind, name): drawn for kind in kinds for name in kinds[kind] if (drawn := draw(kind, name)) is not None
    }
    around, configs = catalogue(NETWORKS), _configs_by_part(root / _CONFIGS)
    told = {
        row: "- **trained by**: " + ", ".join(f"[{file}](../../{_CONFIGS}/{file})" for file in files)
        for row, files in configs.items()
        if len(files) <= _FEW
    }
    text = [_INTRO, *(_overview(kind, rows) for kind, rows in kinds.items()), _networks(around), _layers()]
    made = {
        f"{CATALOGUE_FOLDER}/{kind}.md": "\n".join(_kind(kind, rows, pictures, told)).rstrip() + "\n"
        for kind, rows in {**kinds, **around}.items()
    }
    return {CATALOGUE_PAGE: "\n".join([*text, _names()]).rstrip() + "\n", **made, **pictures}


def write_catalogue(root: Path) -> None:
    """Write the pages and their pictures, and remove those of parts that are gone."""
    made = pages(root)
    (root / CATALOGUE_FOLDER).mkdir(parents=True, exist_ok=True)
    for old in stale(root, made):
        old.unlink()
    for name, text in made.items():
        (root / name).write_text(text, encoding="utf-8")


def stale(root: Path, made: Container[str]) -> list[Path]:
    """Return the pages and pictures that nothing makes."""
    return [
        path for path in sorted((root / CATALOGUE_FOLDER).glob("*")) if f"{CATALOGUE_FOLDER}/{path.name}" not in made
    ]


def _picture(kind: str, name: str) -> str:
    return f"{CATALOGUE_FOLDER}/{kind}-{name}.svg"


def _heading(kind: str) -> str:
    return f"## [{KIND_TITLES[kind]}](catalogue/{kind}.md)"


def _overview(kind: str, rows: Mapping[str, Any]) -> str:
    uses = USES if kind in SOCKET_KINDS else ()
    lines = [_heading(kind), "", cells("name", "formula", "cost", *uses), "|---" * (3 + len(uses)) + "|"]
    for name, row in rows.items():
        marks = ["●" if use in row["uses"] else "" for use in uses]
        lines.append(
            cells(f"[{name}](catalogue/{kind}.md#{kind}-{name})", code(row["formula"]), row["cost"] or "", *marks)
        )
    return "\n".join([*lines, ""])


def _networks(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of each kind of part of networks."""
    lines = [AROUND]
    for kind, rows in parts.items():
        lines += [_heading(kind), "", cells("name", "what it computes"), "|---|---|"]
        lines += [
            cells(f"[{name}](catalogue/{kind}.md#{kind}-{name})", code(row["about"])) for name, row in rows.items()
        ]
        lines.append("")
    return "\n".join(lines)


def _layers() -> str:
    """What is no row of a table but a class."""
    lines = [
        "## Layers and functions, for models of your own",
        "",
        cells("names", "formula", "in Python"),
        "|---|---|---|",
    ]
    for name, row in catalogue({"layer": PARTS["layer"]})["layer"].items():
        part: Any = PARTS["layer"][name]
        lines.append(
            cells(", ".join([name, *row["aliases"]]), code(row["formula"]), code(f"{part.__module__}.{part.__name__}"))
        )
    return "\n".join([*lines, ""])


def _kind(kind: str, rows: Mapping[str, Any], pictures: Container[str], told: Mapping[_Row, str]) -> Iterator[str]:
    """All parts of one kind, as lines."""
    yield f"# {KIND_TITLES[kind]}\n"
    yield "Made by `make docs`; all kinds: [catalogue](../catalogue.md).\n"
    for name, row in rows.items():
        yield f"## {kind}: {name}\n"
        yield from _about(kind, name, row, pictures)
        yield from (f"- **{what}**: {said}" for what, said in _facts(kind, name, row))
        if (kind, name) in told:
            yield told[kind, name]
        yield ""


def _about(kind: str, name: str, row: Mapping[str, Any], pictures: Container[str]) -> Iterator[str]:
    """Yield lines on what a part computes, with its picture."""
    more = body(PARTS[kind][name])
    if kind in NETWORKS:
        yield prose(f"{row['formula']}\n{more}".strip()) + "\n"
        return
    yield f"{code(row['formula'])}\n"
    if _picture(kind, name) in pictures:
        shown = _SHOWN.get(kind, "what {} looks at").format(name)
        yield f"![{shown}]({PurePath(_picture(kind, name)).name})\n"
    if more:
        yield prose(more) + "\n"


def _facts(kind: str, name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    part: Any = PARTS[kind][name]
    if kind in NETWORKS:
        yield "in a config", code(f"{CONFIG_PLACES[kind]}={name}")
    elif kind in TABLES:
        yield "in a config", code(f"{'model.' if kind in SOCKET_KINDS else ''}{row['place']}={name}")
    else:
        yield "in Python", code(f"{part.__module__.rpartition('.')[0]}.{part.__name__}")
    if row["aliases"]:
        yield "other names", ", ".join(row["aliases"])
    if row["settings"]:
        yield "settings", ", ".join(_settings(row["settings"]))
    for method in SHAPED.get(kind, ()):
        if method in vars(part):
            own = (vars(base)[method] for base in part.__mro__ if method in vars(base))  # and of its contract
            yield "shapes", code(next((said for one in own if (said := formula(one).rstrip("."))), ""))
    if kind in MECHANISMS:
        yield from _attention_facts(kind, name, row)
    if row["paper"]:
        yield "paper", f"<{row['paper']}>"


def _settings(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield `hidden_dim: int = 256`."""
    for name, about in settings.items():
        default = f" = {as_yaml(about['default'])}" if "default" in about else ", must be given"
        yield code(f"{name}: {about['type']}{default}")


def _attention_facts(kind: str, name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts that only parts of attention have."""
    if kind in CONTRACTS:
        yield "shapes", code(formula(CONTRACTS[kind]).rstrip("."))
    yield "mask", effects(name) if kind == "span" else HIDDEN[kind]
    if kind in SOCKET_KINDS:
        yield "use", ", ".join(row["uses"]) + "".join(f"; {note}" for note in row["notes"])
    if row["cost"]:
        yield "cost", row["cost"]


def _names() -> str:
    lines = ["## All names", "", "| names | stand for |", "|---|---|"]
    lines += [cells(", ".join(one.names), code(as_yaml(one.settings))) for one in RECIPES.combinations]
    for kind, row in [(part, row) for part in SOCKET_KINDS for row in PARTS[part]]:
        for one in aliases_of(PARTS[kind][row]):
            choice = {"name": row, **one.settings} if one.settings else row
            lines.append(cells(", ".join(one.names), code(as_yaml({kind: choice}))))
    lines += [
        "",
        "A row of a table has its own name too. These names have two meanings, and a warning says which is meant:",
    ]
    lines += ["", *(f"- `{name}`: {meaning}" for name, meaning in sorted(AMBIGUOUS.items()))]
    lines += [
        "",
        "What other names of the literature stand for:",
        "",
        "| names | is | use |",
        "|---|---|---|",
    ]
    lines += [cells(", ".join(one.names), prose(one.about), prose(one.use)) for one in others(SOCKET_KINDS)]
    return "\n".join([*lines, ""])


# Configs that train a part


def _configs_by_part(configs: Path) -> dict[_Row, list[str]]:
    """Return the files in a folder of configs that use each part, by their paths from there."""
    found: dict[_Row, list[str]] = {}
    for path in sorted(configs.rglob("*.yaml")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names with two meanings
            experiment = load_experiment(path)
        for row in dict.fromkeys(_parts_of(experiment)):
            found.setdefault(row, []).append(path.relative_to(configs).as_posix())
    return found


def _parts_of(experiment: Experiment) -> Iterator[_Row]:
    for place, name in _choices_in("model", experiment.model):
        kind = [word for word in place.split(".") if not word.isdecimal()][-1].removesuffix("s")
        yield _OTHERWISE.get((experiment.model.name, kind), kind), name
    yield from (("penalty", penalty.name) for penalty in experiment.penalties)


def _choices_in(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of every part that settings name, also inside of others."""
    inner: Mapping[Any, Any] = {}
    if isinstance(value, Choice):
        yield place, value.name
        inner = value.settings
    elif isinstance(value, tuple):
        inner = dict(enumerate(value))
    elif is_dataclass(value):
        inner = {field.name: getattr(value, field.name) for field in fields(value)}
    for name, one in inner.items():
        yield from _choices_in(f"{place}.{name}", one)
