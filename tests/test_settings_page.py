"""docs/settings.md is made of the code, whole and fresh."""

import re
from pathlib import Path

from regard.experiment.settings_help import places
from regard.reports.catalogue.settings import SETTINGS_PAGE, settings_page

ROOT = Path(__file__).parents[1]


def test_the_page_of_settings_is_fresh():
    assert (ROOT / SETTINGS_PAGE).read_text(encoding="utf-8") == settings_page(), (
        f"{SETTINGS_PAGE} is not what the code says: make docs"
    )


def test_every_setting_is_on_the_page():
    named = set(re.findall(r"`([\w.]+)`", settings_page()))
    assert {one.place.rpartition(".")[2] for one in places()} <= named


def test_rows_have_as_many_cells_as_their_head():
    for table in re.findall(r"(?:^\|.*\n)+", settings_page(), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
