"""regard attention bench"""

import json

import pytest
from small_runs import regard as told
from small_runs import unsaid
from typer.testing import CliRunner

from regard.cli.app import app

SMALL = ["attention", "bench", "--dim", "8", "--rounds", "2", "--lengths", "8,16,8"]


def out(*words: str) -> str:
    done = CliRunner().invoke(app, [*SMALL, *words])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_two_tables_of_time_and_memory():
    lines = out("dot", "score=additive,span=causal", "--batch", "2", "--heads", "2").splitlines()
    assert lines[0].startswith("forward and backward, batch 2, dim 8, 2 heads, as many queries as keys, ")
    assert lines[0].endswith("median of 2 rounds")
    assert [line.split(" | ")[0] for line in lines if line.startswith("| ") and "---" not in line] == [
        "| ms", "| dot", "| score=additive,span=causal", "| MB", "| dot", "| score=additive,span=causal",
    ]  # fmt: skip
    assert lines[2] == "| ms | 8 | 16 | slope |"


def test_json_tells_every_round():
    values = json.loads(out("dot", "--plain", "--json", "--queries", "3", "--forward"))
    assert [one["name"] for one in values["mechanisms"]] == ["dot", "dot (plain)"]
    assert [len(one["seconds"]) for one in values["mechanisms"][0]["measures"]] == [2, 2]
    assert (values["workload"]["queries"], values["workload"]["backward"]) == (3, False)


def test_a_plot_is_written(tmp_path):
    assert "slope" in out("dot", "--plot", str(tmp_path / "plot.svg"))
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["dto"], ["dto: attention: there is no 'dto'", "'dot'"]),
        (["dot", "--lengths", "8,x"], ["--lengths: must be numbers with commas between them, not '8,x'"]),
        (["dot", "--lengths", "0"], ["--lengths"]),
        (["dot", "--heads", "3"], ["dot: attention.num_heads: 3 heads do not divide dim 8"]),
        (["dot", "--plot", "x.doc"], ["--plot: there is no kind of picture '.doc'"]),
        (["dot", "--device", "cdua"], ["device: there is no 'cdua'"]),
    ],
)
def test_what_is_wrong_is_told(words, parts):
    assert unsaid(told(*SMALL, *words), *parts) == []
