"""docs/catalogue.md is made of the code, whole and fresh."""

import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from regard.experiment import MECHANISMS, catalogue, docstrings
from regard.experiment.tables import SOCKET
from regard.reports.catalogue.drawings import draw
from regard.reports.catalogue.page import PAGE, PICTURES, pages, stale, write

ROOT = Path(__file__).parents[1]
MAX_BYTES = 1_000_000  # of page and pictures
HINT = "make docs"
UNPUBLISHED = ["span forced_forward: paper"]  # told in lectures; there is no paper to name
ROWS = [(kind, name) for kind in SOCKET for name in MECHANISMS[kind]]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages(ROOT)


def test_the_catalogue_is_fresh(made):
    changed = [name for name, text in made.items() if not (ROOT / name).exists() or _read(name) != text]
    left = [path.name for path in stale(ROOT, made)]
    assert not changed and not left, f"docs/ is not what the code says ({', '.join([*changed, *left][:3])} …): {HINT}"


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_part_of_a_socket_tells_formula_paper_and_cost():
    rows = catalogue(MECHANISMS)
    wanted = ("formula", "paper", "cost")
    missing = {f"{kind} {name}": [fact for fact in wanted if not rows[kind][name][fact]] for kind, name in ROWS}
    told = [f"{row}: {' and '.join(facts)}" for row, facts in missing.items() if facts]
    assert told == UNPUBLISHED, f"missing in docstrings, at the place that regard/experiment/docstrings.py says: {told}"


def test_every_part_is_on_the_page_with_its_picture(made):
    for kind, rows in catalogue(MECHANISMS).items():
        for name, row in rows.items():
            section = made[PAGE].partition(f"\n### {kind}: {name}\n")[2].partition("\n### ")[0]
            assert row["formula"] in section
            assert all(f"`{setting}: " in section for setting in row["settings"])
            assert all(alias in section for alias in row["aliases"])
    for kind, name in ROWS:
        assert f"](catalogue/{kind}-{name}.svg)" in made[PAGE]


def test_links_on_the_page_lead_somewhere(made):
    anchors = {line.lstrip("# ").lower().replace(" ", "-") for line in made[PAGE].splitlines() if line.startswith("#")}
    anchors = {re.sub(r"[^\w-]", "", anchor) for anchor in anchors}
    links = re.findall(r"\]\(([^)]+)\)", made[PAGE])
    assert len(links) > 2 * len(ROWS)
    for link in links:
        assert (
            link[1:] in anchors if link.startswith("#") else f"docs/{link}" in made or (ROOT / "docs" / link).exists()
        )


def test_rows_of_a_table_have_as_many_cells_as_its_head(made):
    for table in re.findall(r"(?:^\|.*\n)+", made[PAGE], re.MULTILINE):
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
    (tmp_path / PICTURES).mkdir(parents=True)
    (tmp_path / PICTURES / "score-gone.svg").touch()
    write(tmp_path)
    assert stale(tmp_path, made) == []
    assert sorted(path.name for path in (tmp_path / PICTURES).iterdir()) == sorted(
        Path(name).name for name in made if name != PAGE
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
