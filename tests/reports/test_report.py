"""A report as text and as JSON, and the picture that a command writes of it."""

import json

import pytest

from regard.cli.emit import check_plot_file, emit
from regard.errors import ConfigError
from regard.reports.report import Report, check_plot, new_figure, picture_of
from regard.reports.table import Cell, Table

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
    assert picture_of(new_figure(1, 1), ending).startswith(start)


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    check_plot_file(None)
    with pytest.raises(ConfigError, match="there is no kind of picture"):
        check_plot_file(tmp_path / "picture.txt")
    with pytest.raises(ConfigError, match="there is no folder"):
        check_plot_file(tmp_path / "none" / "picture.svg")
