"""The part of the catalogue that is of networks: encoders, decoders, and what they are made of."""

from collections.abc import Iterator, Mapping
from typing import Any

from regard.experiment import NETWORKS
from regard.experiment.docstrings import body, formula
from regard.registry import Registry
from regard.reports.catalogue.marks import cells, code, escape, setting

KINDS = {
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
PLACES = {  # where a config names one
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
INTRO = """**Networks**

Any encoder goes under any decoder; [mixing architectures](how-to/architectures.md) tells what must agree.
"""


def overview(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of each kind."""
    lines = [INTRO]
    for kind, rows in parts.items():
        lines += [f"**{KINDS[kind]}**", "", cells("name", "what it computes"), "|---|---|"]
        lines += [cells(f"[{name}](#{kind}-{name})", code(row["about"])) for name, row in rows.items()]
        lines.append("")
    return "\n".join(lines)


def section(kind: str, rows: Mapping[str, Any], trained_by: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """All of one kind, as lines."""
    yield f"## {KINDS[kind]}\n"
    for name, row in rows.items():
        part: Any = NETWORKS[kind][name]
        yield f"### {kind}: {name}\n"
        yield escape(f"{formula(part)}\n{body(part)}".strip()) + "\n"
        yield from (f"- **{what}**: {said}" for what, said in _facts(kind, name, row))
        if (kind, name) in trained_by:
            yield trained_by[kind, name]
        yield ""


def _facts(kind: str, name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    table: Registry[Any] = NETWORKS[kind]
    part: Any = table[name]
    yield "in a config", code(f"{PLACES[kind]}={name}")
    if row["aliases"]:
        yield "other names", ", ".join(row["aliases"])
    if row["settings"]:
        yield "settings", ", ".join(code(setting(*one)) for one in row["settings"].items())
    if "forward" in vars(part):
        yield "shapes", code(formula(part.forward).rstrip("."))
    if row["paper"]:
        yield "paper", f"<{row['paper']}>"
