"""The pages of settings are made of the code, whole and fresh."""

import re
from pathlib import Path

from regard.experiment import PARTS
from regard.experiment.settings_help import places
from regard.reports.catalogue.settings import COMMON_SETTINGS, SETTINGS_FOLDER, SETTINGS_PAGE, settings_pages

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
