"""regard attention bench"""

import json

import pytest
from small_runs import regard as told
from small_runs import unsaid
from typer.testing import CliRunner

from regard.cli.app import app

SMALL = ["attention", "bench", "--dim", "8", "--rounds", "2", "--lengths", "8,16,8"]
SMALLEST = ["attention", "bench", "--dim", "8", "--rounds", "1", "--lengths", "8"]


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
    ("words", "told_so"),
    [
        (["dto"], "dto: there is no 'dto' (did you mean 'dot'?)"),
        (["luonng"], "luonng: there is no 'luonng' (did you mean 'luong'?)"),
        (["xyzzy"], "xyzzy: there is no 'xyzzy' (regard list attention shows every name)"),
        (["lstmn"], "lstmn: 'lstmn' is a cell: "),
        (["luong local_p"], "(together: {name: luong, span: local_predictive})"),
        (["luong bahdanau"], "there is no 'luong bahdanau' (more than one of them says score)"),
        (["score=dott"], "score=dott: score: there is no 'dott' (did you mean 'dot'?)"),
        (["span=xyzzy"], "span=xyzzy: span: there is no 'xyzzy' (regard list span shows all of them)"),
        (["luong,span=xyzzy"], "luong,span=xyzzy: span: there is no 'xyzzy'"),
        (["score=mlp,score.depth=2"], "score=mlp,score.depth=2: score.depth: there is no such setting"),
        (["span=window,span.radius=-1"], "span=window,span.radius=-1: span.radius: must be at least 0, not -1"),
        (["{score: dto}"], "{score: dto}: score: there is no 'dto'"),
        (["{score: dot"], "this is not YAML"),
        ([""], "'': '' names nothing"),
        (["dot", "dot"], "dot: is given twice (each mechanism once)"),
        (["dot", "--lengths", "8,x"], "--lengths: must be numbers with commas between them, not '8,x'"),
        (["dot", "--lengths", "0"], "--lengths: must be numbers"),
        (["dot", "--heads", "3"], "dot: num_heads: 3 heads do not divide dim 8"),
        (["dot", "--plot", "x.doc"], "--plot: unknown file type '.doc'"),
        (["dot", "--plot", "no/such/folder/x.svg"], "no/such/folder/x.svg: "),
        (["dot", "--device", "cdua"], "--device: there is no 'cdua'"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_a_fault_is_one_line_that_says_where_and_what_instead(words, told_so):
    done = told(*SMALLEST, *words)
    assert unsaid(done, told_so) == []
    assert len(done.said.splitlines()) == 1  # no warning before it either


def test_every_fault_has_a_line():
    done = told(*SMALLEST, "dto", "addditive", "score=dot,num_heads=0")
    assert done.code == 2
    assert [line.split(":")[1].strip() for line in done.said.splitlines()] == [
        "dto",
        "addditive",
        "score=dot,num_heads=0",
    ]


def test_a_group_as_a_config_has_it_is_a_mechanism_too():
    assert "| {name: bahdanau, span: causal}" in out("{name: bahdanau, span: causal}", "--lengths", "8")
