"""regard list, and regard list attention: one sheet for people, plain lines for pipes, JSON for programs."""

import json
import re
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from regard.attention.recipes import RECIPES
from regard.cli.app import app
from regard.errors import ConfigError
from regard.experiment import MECHANISMS, PARTS, TABLES, catalogue
from regard.experiment.names import others
from regard.experiment.tables import SOCKET_KINDS
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice
from regard.reports.catalogue.listing import show_sheet

SHEET = {**MECHANISMS, "layer": PARTS["layer"]}
OTHERS = others(SHEET)
ROWS = [(kind, name) for kind in SOCKET_KINDS for name in TABLES[kind]]


def listed(*words: str) -> str:
    done = CliRunner().invoke(app, ["list", *words])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def sheet(width: int) -> list[str]:
    """What a terminal of that width shows, without its colours."""
    file = StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None, highlight=False)
    show_sheet(catalogue(SHEET), OTHERS, "cost in letters", console)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_sheet_fits_the_terminal_and_names_everything(width):
    lines = sheet(width)
    assert max(map(cell_len, lines)) <= width
    starts = {line.split()[0] for line in lines if line and not line.startswith(" ")}
    parts = catalogue(SHEET)
    assert {name for rows in parts.values() for name in rows} <= starts
    assert {one.names[0] for one in OTHERS} <= starts


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_sheet_leaves_no_word_out(width):
    text = squeezed("".join(sheet(width)))
    for row in (row for rows in catalogue(SHEET).values() for row in rows.values()):
        assert squeezed(row["formula"].rstrip(".")) in text
        assert squeezed(row["cost"] or "") in text
        assert squeezed(", ".join(row.get("uses", []))) in text
        assert squeezed(", ".join(row["aliases"])) in text


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_a_wide_terminal_has_a_column_for_each_use():
    wide = next(line for line in sheet(120) if "cross" in line and "dec" in line)
    assert wide.split() == ["cost", "cross", "enc", "dec", "paper"]
    causal = next(line for line in sheet(120) if line.startswith("causal"))
    assert causal.count("●") == 3


def test_a_pipe_gets_a_paragraph_a_part_that_fits_80_columns():
    lines = listed("attention").splitlines()
    assert not any("\x1b" in line for line in lines)
    assert max(map(cell_len, lines)) <= 80
    heads = [line.split() for line in lines[: lines.index("")] if not line.startswith(" ")]
    parts = catalogue(SHEET)
    rows = [[kind, name] for kind, rows in parts.items() for name in rows]
    assert heads == [*rows, *(["other", one.names[0]] for one in OTHERS)]


def test_a_pipe_gets_every_word():
    """Names and links are whole, so that they can be searched for."""
    text = listed("attention")
    words = set(text.replace(",", " ").split())
    for row in (row for rows in catalogue(SHEET).values() for row in rows.values()):
        assert set(row["formula"].replace(",", " ").split()) <= words
        assert {*row["aliases"], *filter(None, [row["paper"]])} <= words
        assert squeezed(row["cost"] or "") in squeezed(text)
    for one in OTHERS:
        assert {*one.names} <= words and squeezed(one.use) in squeezed(text)


def test_json_has_all_of_it():
    found = json.loads(listed("attention", "--json"))
    names, others = found.pop("names"), found.pop("elsewhere")
    assert found == catalogue(SHEET)
    assert set(names) == set(RECIPES.named)
    assert names["bahdanau"] == {"settings": {"score": "additive", "num_heads": 1}, "warning": None}
    assert {name for name, told in names.items() if told["warning"]} == {
        name for name, one in RECIPES.named.items() if one.note
    }
    assert {"self", "cnn", "input_feeding", "featurewise_static"} <= {
        name for other in others for name in other["names"]
    }
    row = json.loads(listed("--json"))["score"]["additive"]
    assert {"formula", "paper", "cost", "aliases", "uses", "notes", "place", "settings", "about"} <= set(row)


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_uses_are_those_that_build(row):
    """A part that is said to serve a decoder's own words can be built for them, and any other cannot."""
    kind, name = row
    settings = AttentionSettings(**{"score": Choice("dot"), kind: (Choice(name),) if kind == "span" else Choice(name)})
    uses = catalogue({kind: TABLES[kind]})[kind][name]["uses"]
    build_attention(settings, 8, 8)
    try:
        build_attention(settings, 8, 8, causal=True)
    except ConfigError:
        assert uses == ["cross", "encoder"]
    else:
        assert uses == ["cross", "encoder", "decoder"]


def test_kinds_that_no_config_names_are_listed_too():
    assert "structured" in listed("pooling")
    assert listed("Poolings") == listed("pooling") and listed("histories") == listed("history")


def test_everything_lists_poolings_layers_and_memories():
    found = json.loads(listed("--json"))
    assert {"structured", "featurewise", "query"} <= set(found["pooling"])
    memories = {"memory_hop", "ntm_head", "differentiable_stack", "key_value"}
    assert memories | {"multi_step_attention", "mutual_attention", "aligned_question"} <= set(found["layer"])
    assert {"multi_head", "self"} <= {*found["names"], *(name for one in found["elsewhere"] for name in one["names"])}
    text = re.sub(r"\s+", " ", listed())
    assert all(f" {name}," in text for name in memories)
    assert max(map(len, listed().splitlines())) <= 110


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        ("Bahdanau attention", "additive", "model.attention.score=additive"),
        ("静态AM", "context_vector", "others"),
        ("MemN2N", "memory_hop", "in Python: regard.layers.memory_hop.MemoryHop"),
        ("Differentiable Stack RNNs", "differentiable_stack", "in Python"),
        ("source2token", "featurewise", "in Python"),
        ("multihead", "transformer", "model.attention={score: scaled_dot, num_heads: 8}"),
        ("self", "self_attention", "set model.self_attention"),
        ("greedy", "greedy", "decoding.search=greedy"),
    ],
)
def test_any_name_finds_its_rows(name, row, told):
    text = listed(name)
    assert f"\n  {row} " in text and (told in text or told == "others")
    assert row in {part for rows in json.loads(listed(name, "--json")).values() for part in rows}


def test_a_kind_that_is_not_there_is_told():
    done = CliRunner().invoke(app, ["list", "atention"])
    assert (done.exit_code, "did you mean 'attention'?" in done.stderr) == (2, True)


def test_an_unknown_name_is_one_short_line():
    done = CliRunner().invoke(app, ["list", "zzzqqq"])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "kinds are task, model" in done.stderr and len(done.stderr) < 500, done.stderr
