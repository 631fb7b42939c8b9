"""The tables of a comparison, as Markdown and in a terminal: what stands in them, and that no name is ever markup."""

import re

import pytest

from regard.reports.compare.page import comparison_page
from regard.reports.compare.plan import Publication
from regard.reports.compare.tables import (
    colour_note,
    comparison_markdown,
    gain_table,
    length_table,
    main_table,
    notes,
    publication_table,
    run_table,
    terminal,
)
from regard.reports.forecast.forecast import NEAR_ZERO
from regard.reports.timing import ClockRate, TimeSpent

HOSTILE = "</script><img src=x>\n# a\n\n- b | c\u2028\u202e\ud800`x` *y* [z](u)"


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_the_rows_of_the_table(compared):
    found = compared({"good": 0.1, "poor": 0.6})
    table = main_table(found)
    assert table.columns == [
        "system", "runs", "BLEU", "95 %", "p", "Wilcoxon p", "exact match", "parameters", "train tokens/core s",
        "train words/core s", "decode sentences/core s", "core minutes",
    ]  # fmt: skip
    good, poor = texts(table)
    bleu = found.rows[1].figures[0]
    assert (good[0], good[1], good[4]) == ("good", "2", "–")
    assert good[7:] == ["2,600,000", "8,000", "6,400", "220", "5.0"]  # 8,000 tokens at 1.25 a word
    assert poor[2] == f"{bleu.mean:.2f} ± {bleu.spread:.2f}"
    assert poor[4:6] == ["0.002", "0.5"]  # of two seeds that agree: 2 of 4 signs
    assert len(table.markdown().splitlines()) == 4


NO_CORES = [
    {"spent": TimeSpent(240.0, None)},
    {"tokens": ClockRate(7000.0, None)},
    {"sentences": ClockRate(210.0, None)},
]


@pytest.mark.parametrize("known", NO_CORES, ids=lambda known: next(iter(known)))
def test_where_processor_time_does_not_tell_all_the_clock_on_the_wall_does(known, compared):
    found = compared({"good": 0.1, "poor": 0.6}, known=known)
    table = main_table(found)
    assert table.columns[8:] == ["train tokens/s", "train words/s", "decode sentences/s", "minutes"]
    assert texts(table)[0][8:] == ["7,000", "5,600", "210", "4.0"]
    assert run_table(found).columns[-3:] == ["train tokens/s", "decode sentences/s", "minutes"]
    assert any("wall time of training, validation and halts included" in note for note in notes(found))


def test_a_run_too_short_for_a_line_of_the_log_has_no_speed_but_its_minutes(compared):
    table = main_table(compared({"good": 0.1}, known={"tokens": ClockRate(None, None)}))
    assert table.columns[-1] == "core minutes"
    assert texts(table)[0][7:] == ["–", "–", "220", "5.0"]


def test_halts_are_in_no_table_that_knows_processor_time(compared):
    found = compared({"good": 0.1, "poor": 0.6}, known={"spent": TimeSpent(7777.0 * 60, 300.0)})
    assert "7777.0" not in comparison_markdown(found)
    assert "7777.0" not in comparison_page(found)
    assert found.values()["systems"][0]["seconds"] == 7777.0 * 60


def test_systems_that_learnt_next_to_nothing_are_named_and_not_coloured(compared):
    """Of spoilt words a BLEU below 3 is left; one such system beside a good one needs no note."""
    found = compared({"poor": 0.9, "worse": 1.0})
    poor, worse = (row.figures[0].mean for row in found.rows)
    assert worse < poor < NEAR_ZERO
    line = "poor, worse have learnt next to nothing (BLEU below 3)"
    assert next(note for note in notes(found) if "nothing" in note).startswith(line)
    assert line in terminal(found, 80)
    assert not main_table(found).rows[1][2].colour
    mixed = compared({"good": 0.1, "worse": 1.0})
    assert "next to nothing" not in comparison_markdown(mixed) + terminal(mixed, 80)
    assert main_table(mixed).rows[1][2].colour == "worse"


def test_of_one_seed_no_other_seeds_are_claimed(compared):
    text = " ".join(notes(compared({"good": 0.1, "poor": 0.6}, seeds=1)))
    assert "one training of each system. 95 %: over other sentences alone" in text
    assert "probability that other sentences reverse" in text
    assert "other seeds" not in text
    assert "±" not in text
    assert "Intervals and p do not include the variance over seeds" in text
    assert "over other sentences alone" in colour_note(compared({"good": 0.1}, seeds=1))


def test_of_several_seeds_they_are_and_who_has_one_alone_is_told(compared):
    several = " ".join(notes(compared({"good": 0.1, "poor": 0.6})))
    assert "over other sentences and other seeds" in several
    assert "variance over seeds" not in several
    mixed = " ".join(notes(compared({"good": 0.1, "poor": 0.6}, seeds={"good": 2, "poor": 1})))
    assert "Intervals and p of poor, trained once, do not include the variance over seeds" in mixed


def test_the_table_by_length_holds_every_bucket(compared):
    found = compared({"good": 0.1, "poor": 0.6})
    table = length_table(found)
    assert table.columns[0] == "words"
    counts = [int(re.fullmatch(r"\d+-\d+ \((\d+)\)", column)[1]) for column in table.columns[1:]]
    assert sum(counts) == 120
    assert min(counts) >= 30
    assert [row[0] for row in texts(table)] == ["good", "poor"]


def test_what_was_published_stands_beside_what_was_found(compared):
    assert publication_table(compared({"good": 0.1})) is None
    found = compared({"good": 0.0}, publication=Publication(None, "BLEU 41 on Multi30k"))
    assert texts(publication_table(found)) == [["good", "100.00 ± 0.00", "BLEU 41 on Multi30k", "–"]]


def test_the_document_has_all_tables_and_what_is_needed_to_read_them(compared):
    about = {"notes": ["on a shared machine"], "version": "1.2", "date": "2026-01-02", "environment": {"cores": 2}}
    found = compared(
        {"good": 0.1, "poor": 0.6}, publication=Publication("URL", "41"), command="regard compare a.yaml", **about
    )
    text = comparison_markdown(found._replace(failed={"odd-seed1": "no number"}))
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# Comparison of good, poor", "## BLEU by words of the source (sentences)", 
        "## BLEU: difference to good by words of the source", "## What was published", "## Runs that failed",
        "## How it was made",
    ]  # fmt: skip
    for table in (main_table(found), length_table(found), gain_table(found), publication_table(found)):
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

    tame = comparison_markdown(
        compared({"a": 0.1, "b": 0.6}, publication=Publication("x", "y"), command="x", notes=["y"], version="1")
    )
    publication = Publication(HOSTILE, HOSTILE)
    wild = compared({HOSTILE: 0.1, "b": 0.6}, publication=publication, command=HOSTILE, notes=[HOSTILE], version="1")
    text = comparison_markdown(wild)
    assert shape(text) == shape(tame)
    assert "<" not in "".join(line for line in text.splitlines() if not line.startswith("    "))


@pytest.mark.parametrize(("width", "tables"), [(400, 2), (60, 1)])
def test_a_terminal_shows_the_table_by_length_where_it_fits(width, tables, compared):
    found = compared({"good": 0.1, "poor": 0.6})
    text = terminal(found, width)
    assert text.startswith(main_table(found).terminal())
    assert sum(line.startswith("good ") for line in text.splitlines()) == tables
    assert (length_table(found).terminal() in text) == (tables == 2)
