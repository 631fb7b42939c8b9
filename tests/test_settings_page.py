"""The pages of settings are made of the code, whole and fresh."""

import re
from pathlib import Path

from regard.config import as_values
from regard.experiment import PARTS, read_experiment
from regard.experiment.settings_help import places
from regard.reports.catalogue.settings import (
    COMMON_SETTINGS,
    SETTINGS_FOLDER,
    SETTINGS_PAGE,
    is_by_pairs,
    settings_pages,
)

ROOT = Path(__file__).parents[1]


def test_the_pages_of_settings_are_fresh():
    made = settings_pages()
    stale = [
        name for name, text in made.items() if not (ROOT / name).exists() or text != (ROOT / name).read_text("utf-8")
    ]
    left = {f"{SETTINGS_FOLDER}/{path.name}" for path in (ROOT / SETTINGS_FOLDER).iterdir()} - set(made)
    assert (stale, left) == ([], set()), "docs/settings is not what the code says: make docs"


def test_every_setting_and_kind_is_on_a_page():
    text = "".join(settings_pages().values())
    assert {one.place.rpartition(".")[2] for one in places()} <= set(re.findall(r"`([\w.]+)`", text))
    assert [kind for kind in PARTS if kind != "layer" and f"\n## Part: {kind}\n" not in text] == []


def test_common_settings_come_first():
    rows = re.findall(r"^\| `([\w.]+)`", settings_pages()[f"{SETTINGS_FOLDER}/training.md"], re.MULTILINE)
    common = [place.removeprefix("training.") for place in COMMON_SETTINGS if place.startswith("training.")]
    assert set(rows[: len(common)]) == set(common)
    assert [place for place in COMMON_SETTINGS if f"\n| `{place}` " not in settings_pages()[SETTINGS_PAGE]] == []


def test_rows_have_as_many_cells_as_their_head():
    for table in re.findall(r"(?:^\|.*\n)+", "".join(settings_pages().values()), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


def test_defaults_by_the_pairs_are_those_of_a_training(tmp_path):
    """The row of the page, and what `regard train` plans for as many pairs."""
    (tmp_path / "few.tsv").write_text("a\tb\n" * 600, encoding="utf-8")
    made = read_experiment(tmp_path / "few.tsv", [])
    page = settings_pages()[SETTINGS_PAGE]
    (row,) = re.findall(r"^\| below 4,000 \|(.*)\|$", page, re.MULTILINE)
    pieces, dim, layers, hidden, heads, dropout, tokens, rate, warmup, updates = (
        float(cell.replace(",", "")) for cell in row.split("|")
    )
    model, training = as_values(made)["model"], made.training
    for side in ("encoder", "decoder"):
        assert (model[side]["num_layers"], model[side]["feedforward_dim"]) == (layers, hidden)
        assert (
            f"| `model.{side}.num_layers` | Number of stacked layers. | int >= 1, <= 1000 | `6`; [by the pairs]" in page
        )
    assert (made.text.tokenizer.settings["size"], model["dim"], model["dropout"]) == (pieces, dim, dropout)
    assert (model["attention"]["num_heads"], training.batch_tokens) == (heads, tokens)
    assert (training.learning_rate, training.schedule.settings["warmup"], training.max_updates) == (
        rate,
        warmup,
        updates,
    )
    assert [place for place in COMMON_SETTINGS if is_by_pairs(place)] == re.findall(
        r"^\| `(.+?)` .*\[by the", page, re.M
    )
