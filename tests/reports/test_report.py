"""A report as text and as JSON, its tables, the picture that a command writes of it, and the clock of a report."""

import json
import time

import pytest

from regard.cli.emit import check_plot_file, emit
from regard.errors import ConfigError
from regard.reports.report import Report, check_plot, figure_bytes, new_figure
from regard.reports.table import Cell, Table, number
from regard.reports.timing import WARM_UP, timed

TABLE = Table(["name", "value"], [[Cell("a|b"), Cell("1")]])
MARKDOWN = TABLE.markdown()


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report([], {}), ""),
        (Report([], {}, "two\nlines"), "two\nlines\n"),
        (Report([TABLE], {}), MARKDOWN),
        (Report([TABLE, TABLE], {}, "end"), f"{MARKDOWN}\n{MARKDOWN}\nend\n"),
        (Report([TABLE], {}, heading="head"), f"head\n\n{MARKDOWN}"),
    ],
)
def test_blocks_stand_an_empty_line_apart(report, text):
    assert report.text(terminal=False) == text


def test_a_terminal_gets_columns():
    assert Report([TABLE], {}, "end").text(terminal=True) == f"{TABLE.terminal()}\nend\n"


def test_json_replaces_the_text(capsys):
    emit(Report([TABLE], {"größe": [1, None]}, "end"), as_json=True)
    told = capsys.readouterr().out
    assert (json.loads(told), "größe" in told, "end" in told) == ({"größe": [1, None]}, True, False)


def test_the_picture_is_made_by_the_ending_and_reported(capsys, tmp_path):
    path = tmp_path / "picture.svg"
    emit(Report([], {}, "end", figure=lambda ending: ending.encode()), as_json=False, plot=path)
    assert path.read_bytes() == b".svg"
    assert capsys.readouterr() == ("end\n", f"wrote {path}\n")


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<?xml"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")])
def test_figures_have_the_kind_of_their_ending(tmp_path, ending, start):
    pytest.importorskip("matplotlib")
    check_plot(tmp_path / f"picture{ending}")
    assert figure_bytes(new_figure(1, 1), ending).startswith(start)


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    check_plot_file(None)
    with pytest.raises(ConfigError, match="unknown file type"):
        check_plot_file(tmp_path / "picture.txt")
    with pytest.raises(ConfigError, match="there is no folder"):
        check_plot_file(tmp_path / "none" / "picture.svg")


# Tables as Markdown and in a terminal


def table(columns, *rows):
    return Table(columns, [[Cell(text) for text in row] for row in rows])


def test_hostile_names_stay_in_their_cell_of_the_markdown():
    lines = table(["a", "b"], ["x|y\n<b>`*_[z](u)", "1"]).markdown().splitlines()
    assert lines[1:] == ["| --- | ---: |", r"| x\|y␊&lt;b&gt;\`\*_\[z\](u) | 1 |"]


def test_an_interval_needs_no_escapes():
    assert "1.0 [0.5, 1.5]" in table(["a", "b"], ["x", "1.0 [0.5, 1.5]"]).markdown()


def test_columns_of_a_terminal_stand_below_each_other():
    assert table(["system", "n"], ["a", "1"], ["我", "10"]).terminal() == "system   n\na        1\n我      10\n"


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (1234.4, "1,234"), (12.34, "12.3"), (0.01234, "0.0123"), (7.0, "7"), (0, "0")]
)
def test_numbers(value, told):
    assert number(value) == told


# The clock starts when a model is warm


def test_the_first_few_texts_are_done_before_the_clock_starts():
    given = []

    def run(texts):
        given.append(list(texts))
        time.sleep(0.2 if len(given) == 1 else 0.0)  # as when something is compiled
        return len(texts)

    made, spent = timed(run, [str(number) for number in range(WARM_UP + 5)])
    assert made == WARM_UP + 5
    assert [len(texts) for texts in given] == [WARM_UP, WARM_UP + 5]
    assert spent.seconds < 0.2


def test_processor_time_does_not_pass_while_a_process_sleeps():
    _, spent = timed(lambda texts: time.sleep(0.1 * (len(texts) > WARM_UP)), "x" * (WARM_UP + 1))
    assert spent.seconds >= 0.1
    assert spent.core_seconds < spent.seconds / 2
