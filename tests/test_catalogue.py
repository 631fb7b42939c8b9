"""The catalogue in docs/ is made of the code, whole and fresh."""

import math
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from regard.attention import Role
from regard.config import read_settings
from regard.experiment import MECHANISMS, Experiment, catalogue, docstrings
from regard.experiment.tables import NETWORKS, SOCKET_KINDS
from regard.records import Batch, Sequences
from regard.registry import Choice
from regard.reports.catalogue.drawings import draw, example
from regard.reports.catalogue.page import CATALOGUE_FOLDER, CATALOGUE_PAGE, CONFIG_PLACES, pages, stale, write_catalogue

ROOT = Path(__file__).parents[1]
MAX_BYTES = 1_000_000  # of page and pictures
HINT = "make docs"
UNPUBLISHED = ["span forced_forward: paper"]  # told in lectures; there is no paper to name
ROWS = [(kind, name) for kind in SOCKET_KINDS for name in MECHANISMS[kind]]
EVERY = [(kind, name) for kind in MECHANISMS for name in MECHANISMS[kind]]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages(ROOT)


def test_the_catalogue_is_fresh(made):
    changed = [name for name, text in made.items() if not (ROOT / name).exists() or _read(name) != text]
    left = [path.name for path in stale(ROOT, made)]
    assert not changed and not left, f"docs/ is not what the code says ({', '.join([*changed, *left][:3])} …): {HINT}"


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_part_tells_formula_paper_and_cost():
    rows = catalogue(MECHANISMS)
    wanted = ("formula", "paper", "cost")
    missing = {f"{kind} {name}": [fact for fact in wanted if not rows[kind][name][fact]] for kind, name in EVERY}
    told = [f"{row}: {' and '.join(facts)}" for row, facts in missing.items() if facts]
    assert told == UNPUBLISHED, f"missing in docstrings, at the place that regard/experiment/docstrings.py says: {told}"


def test_every_part_is_on_the_page_with_its_picture(made):
    for kind, rows in catalogue(MECHANISMS).items():
        for name, row in rows.items():
            section = made[f"{CATALOGUE_FOLDER}/{kind}.md"].partition(f"\n## {kind}: {name}\n")[2].partition("\n## ")[0]
            assert row["formula"] in section
            assert all(f"`{setting}: " in section for setting in row["settings"])
            assert all(alias in section for alias in row["aliases"])
            assert all(f"\n- **{fact}**: " in section for fact in ("shapes", "mask", "cost")), section
    for kind, name in ROWS:
        assert f"]({kind}-{name}.svg)" in made[f"{CATALOGUE_FOLDER}/{kind}.md"]


def test_every_part_of_a_network_is_on_the_page(made):
    for kind, rows in catalogue(NETWORKS).items():
        for name, row in rows.items():
            section = made[f"{CATALOGUE_FOLDER}/{kind}.md"].partition(f"\n## {kind}: {name}\n")[2].partition("\n## ")[0]
            assert all(f"`{setting}: " in section for setting in row["settings"])
            assert f"`{CONFIG_PLACES[kind]}={name}`" in section
            assert f"[{name}](catalogue/{kind}.md#{kind}-{name})" in made[CATALOGUE_PAGE]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in NETWORKS for name in NETWORKS[kind]])
def test_where_a_config_names_a_part_of_a_network_is_true(kind, name):
    whole = {"cell": "recurrent", "feedforward": "transformer", "history": "transformer", "norm": "bytenet"}
    model = {"comparison": "pair_classifier", "fusion": "reader", "tag_head": "tagger"}.get(kind, "translator")
    group, _, setting = CONFIG_PLACES[kind].removeprefix("model.").partition(".")
    chosen = {"name": whole[kind], setting: name} if setting else name
    found = read_settings(Experiment, {"model": {"name": model, group: chosen}}).model
    part = found.settings[group]
    assert (part.settings[setting] if setting else part).name == name


def _anchors(page: str) -> set[str]:
    headings = (line.lstrip("# ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("#"))
    return {re.sub(r"[^\w-]", "", heading) for heading in headings}


def test_links_lead_to_sections_and_files(made):
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", made[CATALOGUE_PAGE])
    assert len(links) > 2 * len(ROWS)
    for file, anchor in links:
        name = f"docs/{file}" if file else CATALOGUE_PAGE
        assert name in made or (ROOT / name).exists()
        assert not anchor or anchor in _anchors(made.get(name) or (ROOT / name).read_text("utf-8"))


def test_rows_of_a_table_have_as_many_cells_as_its_head(made):
    pages = "".join(text for name, text in made.items() if name.endswith(".md"))
    for table in re.findall(r"(?:^\|.*\n)+", pages, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


def test_it_is_small(made):
    assert sum(len(text.encode()) for text in made.values()) < MAX_BYTES


def test_pictures_are_drawn_of_weights():
    for kind, name in (("weighting", "softmax"), ("span", "causal"), ("score", "additive")):
        cells = [
            rect.get("fill-opacity") for rect in ET.fromstring(draw(kind, name)).iter() if rect.get("fill-opacity")
        ]
        assert len(cells) == 49
        rows = [sum(map(float, cells[start : start + 7])) for start in range(0, 49, 7)]
        assert rows == pytest.approx([1.0] * 7, abs=0.04)  # each weight is rounded
    assert draw("pooling", "mean") is None


def values(picture: str) -> list[float]:
    """What the cells of a picture tell, as their tips have it."""
    tips = [text for title in ET.fromstring(picture).iter() for text in [title.text or ""] if " → " in text]
    return [float(tip.rpartition(": ")[2]) for tip in tips]


def test_a_position_shows_its_features():
    found = values(draw("position", "sinusoidal"))
    angles = [(place / 10000 ** (2 * (feature // 2) / 16), feature % 2) for place in range(7) for feature in range(16)]
    assert found == pytest.approx([math.cos(angle) if odd else math.sin(angle) for angle, odd in angles], abs=0.0051)
    assert draw("position", "learned") is None  # before training it has nothing to show


def test_a_penalty_shows_where_it_pulls():
    """A source word looked at too little is pulled up by every target word alike, and one looked at too much down."""
    _, _, weights = example("weighting", "softmax")
    short = 1 - weights.sum(dim=0)
    wanted = short / short.abs().max()
    found = torch.tensor(values(draw("penalty", "doubly_stochastic"))).view(7, 7)
    assert float((found - wanted).abs().max()) < 0.0051
    assert min(values(draw("penalty", "overlap"))) < 0


@pytest.mark.parametrize("name", sorted(MECHANISMS["pooling"]))
def test_the_mask_rule_of_poolings_holds(name):
    pooling = MECHANISMS["pooling"].build(Choice(name), 4).eval()
    states, mask = torch.randn(2, 5, 4), torch.arange(5) < torch.tensor([[3], [0]])
    read = pooling(states, mask)
    assert torch.equal(read, pooling(states.masked_fill(~mask.unsqueeze(-1), 9.0), mask))
    assert bool((read[1] == 0).all())


@pytest.mark.parametrize("row", [("doubly_stochastic", {}), ("overlap", {"between": "heads"})], ids=lambda row: row[0])
def test_the_mask_rule_of_penalties_holds(row):
    target = Sequences(torch.ones(1, 4, dtype=torch.long), torch.arange(4).unsqueeze(0) < 3)
    source = Sequences(torch.ones(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.bool))
    batch = Batch({"source": source, "target": target}, "", torch.arange(1), 3)
    weights = torch.rand(1, 2, 4, 5).softmax(dim=-1)
    other = torch.cat([weights[:, :, :3], weights[:, :, 3:].roll(1, dims=-1)], dim=2)
    costs = [
        MECHANISMS["penalty"].build(Choice(*row)).of_one("x", Role("target", "source"), each, batch).sum()
        for each in (weights, other)
    ]
    assert costs[0] == costs[1]


@pytest.mark.parametrize("row", [("score", "additive"), ("span", "relative"), ("weighting", "hard")], ids="-".join)
def test_pictures_are_the_same_whatever_was_before(row):
    first = draw(*row)
    torch.manual_seed(random.randrange(1000))
    state, dtype = torch.random.get_rng_state(), torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        assert draw(*row) == first
        assert torch.get_default_dtype() == torch.float16
    finally:
        torch.set_default_dtype(dtype)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_writing_takes_away_what_is_no_more(tmp_path, made):
    (tmp_path / CATALOGUE_FOLDER).mkdir(parents=True)
    (tmp_path / CATALOGUE_FOLDER / "score-gone.svg").touch()
    write_catalogue(tmp_path)
    assert stale(tmp_path, made) == []
    assert sorted(path.name for path in (tmp_path / CATALOGUE_FOLDER).iterdir()) == sorted(
        Path(name).name for name in made if name != CATALOGUE_PAGE
    )


class Part:
    """a · b, where the line
    breaks. More of it (https://example.org/paper).

    Cost: O(n·m).
    """


class Bare:
    """Nothing else"""


def test_docstrings_are_read_by_place():
    assert docstrings.formula(Part) == "a · b, where the line"
    assert docstrings.sentence(Part) == "a · b, where the line breaks."
    assert docstrings.cost(Part) == "O(n·m)"
    assert docstrings.paper(Part) == "https://example.org/paper"
    assert docstrings.body(Part) == "breaks. More of it (https://example.org/paper)."
    assert (docstrings.cost(Bare), docstrings.body(Bare)) == (None, "")
