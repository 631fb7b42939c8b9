"""The tables of a comparison, as Markdown and in a terminal: what stands in them, and that no name is ever markup."""

import re
from pathlib import Path

import pytest

from regard.reports.compare.document import markdown, terminal
from regard.reports.compare.origin import Origin, origin_of
from regard.reports.compare.table import Table, number
from regard.reports.compare.tables import length_table, main_table, origin_table

HOSTILE = "</script><img src=x>\n# a\n\n- b | c\u2028\u202e\ud800`x` *y* [z](u)"
CONFIGS = sorted((Path(__file__).parents[3] / "configs").rglob("*.yaml"))


def test_the_rows_of_the_table(compared):
    found = compared({"good": 0.1, "poor": 0.6})
    table = main_table(found)
    assert table.columns == [
        "system", "runs", "BLEU", "95 %", "p", "exact match", "parameters", "train tokens/s", "train words/s",
        "decode sentences/s", "minutes", "core minutes",
    ]  # fmt: skip
    good, poor = table.rows
    bleu = found.rows[1].figures[0]
    assert (good[0], good[1], good[4]) == ("good", "2", "–")
    assert good[6:] == ["2,600,000", "7,000", "5,600", "210", "4.0", "5.0"]  # 7,000 tokens at 1.25 a word
    assert poor[2] == f"{bleu.mean:.2f} ± {bleu.spread:.2f}"
    assert poor[4] == "0.002"
    assert len(table.markdown().splitlines()) == 4


def test_the_table_by_length_holds_every_bucket(compared):
    found = compared({"good": 0.1, "poor": 0.6})
    table = length_table(found)
    assert table.columns[0] == "words"
    counts = [int(re.fullmatch(r"\d+-\d+ \((\d+)\)", column)[1]) for column in table.columns[1:]]
    assert sum(counts) == 60
    assert [row[0] for row in table.rows] == ["good", "poor"]
    assert [row[1:] for row in table.rows] == [
        [f"{bucket.values[place]:.2f}" for bucket in found.buckets] for place in (0, 1)
    ]


def test_what_was_published_stands_beside_what_was_found(compared):
    assert origin_table(compared({"good": 0.1})) is None
    found = compared({"good": 0.0}, origin=Origin(None, "BLEU 41 on Multi30k"))
    assert origin_table(found).rows == [["good", "100.00 ± 0.00", "BLEU 41 on Multi30k", "–"]]


def test_the_document_has_all_tables_and_what_is_needed_to_read_them(compared):
    about = {"notes": ["on a shared machine"], "version": "1.2", "date": "2026-01-02", "environment": {"cores": 2}}
    found = compared({"good": 0.1, "poor": 0.6}, origin=Origin("URL", "41"), command="regard compare a.yaml", **about)
    text = markdown(found._replace(failed={"odd-seed1": "no number"}))
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# Comparison of good, poor", "## BLEU by words of the source (sentences)", "## What was published",
        "## Runs that failed", "## How it was made",
    ]  # fmt: skip
    for table in (main_table(found), length_table(found), origin_table(found)):
        assert f"\n\n{table.markdown()}\n" in text
    for line in (
        "- on a shared machine",
        f"- BLEU: {found.signatures[0]}".replace("|", "\\|"),
        "- odd-seed1: no number",
    ):
        assert line in text.splitlines()
    assert text.endswith("\n\nRegard 1.2 · 2026-01-02 · cores 2\n\n    regard compare a.yaml\n")


def test_hostile_names_stay_in_their_place_of_the_document(compared):
    def shape(text: str) -> list[str]:
        return [re.match(r"# |## |- |\| |    |$|.", line)[0] for line in text.splitlines()]

    tame = markdown(compared({"a": 0.1, "b": 0.6}, origin=Origin("x", "y"), command="x", notes=["y"], version="1"))
    origin = Origin(HOSTILE, HOSTILE)
    wild = compared({HOSTILE: 0.1, "b": 0.6}, origin=origin, command=HOSTILE, notes=[HOSTILE], version="1")
    text = markdown(wild)
    assert shape(text) == shape(tame)
    assert "<" not in "".join(line for line in text.splitlines() if not line.startswith("    "))


@pytest.mark.parametrize(("width", "tables"), [(400, 2), (60, 1)])
def test_a_terminal_shows_the_table_by_length_where_it_fits(width, tables, compared):
    found = compared({"good": 0.1, "poor": 0.6})
    text = terminal(found, width)
    assert text.startswith(main_table(found).text())
    assert sum(line.startswith("good ") for line in text.splitlines()) == tables
    assert (length_table(found).text() in text) == (tables == 2)


def test_hostile_names_stay_in_their_cell_of_the_markdown():
    lines = Table(["a", "b"], [["x|y\n<b>`*_[z](u)", "1"]]).markdown().splitlines()
    assert lines[1:] == ["| --- | ---: |", r"| x\|y␊&lt;b&gt;\`\*_\[z\](u) | 1 |"]


def test_columns_of_a_terminal_stand_below_each_other():
    assert Table(["system", "n"], [["a", "1"], ["我", "10"]]).text() == "system   n\na        1\n我      10\n"


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (1234.4, "1,234"), (12.34, "12.3"), (0.01234, "0.0123"), (7.0, "7"), (0, "0")]
)
def test_numbers(value, told):
    assert number(value) == told


def test_the_head_of_a_config_tells_where_it_comes_from(tmp_path):
    config = tmp_path / "a.yaml"
    config.write_text("# A model: small\n# paper: https://a.b/c\n#published:  BLEU 1: on x\nrun: a\n# paper: no\n")
    assert origin_of(config) == Origin("https://a.b/c", "BLEU 1: on x")
    config.write_text("run: a\n")
    assert origin_of(config) == Origin()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_what_a_config_says_was_published_says_by_whom(path):
    found = origin_of(path)
    if found.published is not None:
        assert found.paper is not None
        assert found.paper.startswith("https://")
