"""stdin → stdout: one line out for each line in, as it arrives."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from regard import predictor
from regard.cli.app import app
from regard.cli.predict import BLOCK, chunks_of_lines
from regard.errors import DataError
from regard.results import Explanation, Prediction

ROOT = Path(__file__).parents[2]


class Echo:
    """Answers each text with itself in capitals, and one worse answer."""

    def predict(self, texts, explain=False):
        for line, text in enumerate(texts, start=1):
            if text == "too long":
                raise DataError("source", "9 pieces are more than this model takes", line=line, hint="split it")
        return [Prediction(text, text.upper(), -0.5, alternatives=[Prediction(text, "?", -2.0)]) for text in texts]


@pytest.fixture
def loads(monkeypatch):
    calls = []

    def load(run, changes):
        calls.append((str(run), list(changes)))
        return Echo()

    monkeypatch.setattr(predictor, "load", load, raising=False)
    return calls


def predict(*words, text=b""):
    return CliRunner().invoke(app, ["predict", "run", *words], input=text)


def test_lines_end_at_line_feeds_alone(loads):
    text = "a\u2028b\u0085c\x0bd\n\n e \x00\r\nlast".encode()
    done = predict(text=text)
    assert done.exit_code == 0
    assert done.stdout_bytes.decode() == "a\u2028b\u0085c\x0bd\n\n e \x00\nlast\n".upper()
    assert loads == [("run", [])]


def test_translate_is_the_same(loads):
    done = CliRunner().invoke(app, ["translate", "run"], input=b"x\n")
    assert done.stdout == "X\n"


def test_search_and_changes_reach_the_predictor(loads):
    predict("decoding.batch_tokens=100", "--search", "greedy", "--n-best", "2")
    changes = ["decoding.batch_tokens=100", "decoding.search=greedy", "decoding.search.n_best=2"]
    assert loads == [("run", changes)]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (["--scores"], ["-0.5000\tX", "-0.5000\tY"]),
        (
            ["--n-best", "2"],
            ["0 ||| X ||| -0.5000", "0 ||| ? ||| -2.0000", "1 ||| Y ||| -0.5000", "1 ||| ? ||| -2.0000"],
        ),
    ],
    ids=["scores", "n-best"],
)
def test_more_than_the_text(loads, options, lines):
    assert predict(*options, text=b"x\ny").stdout.splitlines() == lines


def test_json_is_one_object_a_line(loads):
    rows = [json.loads(line) for line in predict("--json", "--n-best", "2", text="ü\n".encode()).stdout.splitlines()]
    other = {"text": "?", "score": -2.0, "finished": True}
    assert rows == [{"source": "ü", "text": "Ü", "score": -0.5, "finished": True, "alternatives": [other]}]


@pytest.mark.parametrize("n_best", [1, 2])
def test_links_stand_behind_the_best_text_or_in_the_object(monkeypatch, n_best):
    found = Explanation(["red", "▁house"], ["rot", "▁Haus"], [], [[0.1, 0.9], [0.8, 0.2]])
    answer = Prediction("red house", "rot Haus", -0.5, alternatives=[Prediction("red house", "?", -2.0)])

    class Seer:
        def predict(self, texts, explain):
            assert explain
            return [replace(answer, explanation=found) for _ in texts]

    monkeypatch.setattr(predictor, "load", lambda run, changes: Seer(), raising=False)
    options = ["--alignment", "--n-best", str(n_best)]
    lines = predict(*options, text=b"red house\n").stdout.splitlines()
    assert lines[0].endswith("\t1-0 0-1")
    assert lines[1:] == ["0 ||| ? ||| -2.0000"][: n_best - 1]
    (row,) = [json.loads(line) for line in predict(*options, "--json", text=b"red house\n").stdout.splitlines()]
    assert (row["text"], row["alignment"]) == ("rot Haus", "1-0 0-1")


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfx\ny\n", b"\xef\xbb\xbfx"])
def test_a_byte_order_mark_is_no_text(loads, text):
    assert predict(text=text).stdout.splitlines()[0] == "X"


def test_the_input_is_never_written_over(loads, tmp_path):
    (tmp_path / "in.txt").write_text("x\n")
    done = predict("--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "." / "in.txt"))
    assert (done.exit_code, (tmp_path / "in.txt").read_text()) == (2, "x\n")
    assert "is the input itself" in done.stderr


def test_files_instead_of_pipes(loads, tmp_path):
    (tmp_path / "in.txt").write_text("x\ny\n")
    done = predict("--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "out.txt").read_text() == "X\nY\n"


def test_text_that_is_not_utf8_is_told_by_line_and_byte(loads):
    done = predict(text="gut\nGrüße\n".encode("latin-1"))
    assert done.exit_code == 2
    assert done.stderr == "error: stdin:2: byte 3 of the line is not UTF-8 (convert it: iconv -t UTF-8)\n"


def test_a_fault_names_the_line_of_the_whole_input(loads, tmp_path):
    (tmp_path / "in.txt").write_text("x" * BLOCK + "\n" + "a\ntoo long\n")
    done = predict("--input", str(tmp_path / "in.txt"))
    assert done.exit_code == 2
    assert f"{tmp_path / 'in.txt'}:3: 9 pieces" in done.stderr


class Dribble(io.RawIOBase):
    """Gives its blocks one by one, as a pipe does."""

    def __init__(self, blocks):
        self.blocks = list(blocks)

    def read1(self, size):
        return self.blocks.pop(0) if self.blocks else b""


@given(st.lists(st.binary(max_size=5).map(lambda raw: raw.replace(b"\r", b"")), max_size=8))
def test_lines_are_those_of_the_joined_blocks(blocks):
    blocks = [block for block in blocks if block and not max(block) > 127]
    text = b"".join(blocks).decode()
    lines = [line for chunk in chunks_of_lines(Dribble(blocks), "stdin") for line in chunk]
    assert lines == (text.removesuffix("\n").split("\n") if text else [])


def test_a_line_is_answered_before_the_next_is_there():
    code = (
        "from tests.cli.test_predict import Echo; from regard import predictor; from regard.cli.app import main;"
        "predictor.load = lambda run, changes: Echo(); main()"
    )
    command = [sys.executable, "-c", code, "predict", "run"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT) as work:
        for word in (b"one\n", b"two\n"):
            work.stdin.write(word)
            work.stdin.flush()
            assert work.stdout.readline() == word.upper()
        work.stdin.close()
        assert work.wait(timeout=30) == 0
