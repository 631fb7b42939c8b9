"""stdin → stdout: one line out for each line in, as it arrives."""

import gzip
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from regard import predictor
from regard.cli.app import app
from regard.cli.predict import N_BEST
from regard.config import parse_changes
from regard.data.readers.lines import READ_BYTES, chunks_of_lines
from regard.documents.files import FileError
from regard.errors import ConfigError, DataError, TooLongError
from regard.predictor.setup import NATIVE
from regard.predictor.source_context import SourceContext
from regard.results import Explanation, Prediction
from regard.tasks import TranslationTask
from regard.tasks.classification import ClassificationTask
from regard.tasks.language_model import LanguageModelTask
from regard.tasks.tagging import TaggingTask

pytestmark = pytest.mark.usefixtures("run_folder")
ROOT = Path(__file__).parents[2]


def task_of(kind):
    """What of a task is asked for, with an empty vocabulary of answers."""
    last = [*kind.columns][-1]
    return SimpleNamespace(columns=kind.columns, answer=kind.answer, last=last, vocabularies={last: ()})


class Echo:
    """Answers each text with itself in capitals, and one worse answer."""

    task, setup = task_of(TranslationTask), SimpleNamespace(abilities=NATIVE, context=SourceContext({}))
    explainer = SimpleNamespace(with_evidence=list)

    def translate(self, texts, *, memory=None):
        return self.predict(texts)

    def translate_file(self, data, suffix, *, memory=None, **given):
        if suffix == ".docx":
            raise FileError("is broken")
        return data.upper(), [Prediction("", "", 0.0, warning="copied")]

    def predict(self, texts, explain=False, **context):
        for line, text in enumerate(texts, start=1):
            if text == "too long":
                raise TooLongError("source", "9 pieces are more than this model takes", line=line, hint="split it")
            if len(text) > READ_BYTES:
                raise DataError("text", "has 2 fields", line=line)
        return [Prediction(text, text.upper(), -0.5, alternatives=[Prediction(text, "?", -2.0)]) for text in texts]


@pytest.fixture
def loads(monkeypatch):
    calls = []

    def load(run, changes, *, engine=None, features=()):
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


def test_an_empty_text_is_an_empty_line_with_a_warning(loads):
    done = predict("", "one")
    assert (done.exit_code, done.stdout) == (0, "\nONE\n")
    assert done.stderr == 'warning: the text is empty (to read lines of stdin, leave "" out)\n'


def test_a_page_is_translated_as_a_whole(loads, tmp_path):
    (tmp_path / "page.html").write_text("<p>one</p>\n<p>two</p>")
    done = predict("-i", str(tmp_path / "page.html"), "-o", str(tmp_path / "out.html"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "out.html").read_text() == "<P>ONE</P>\n<P>TWO</P>"
    assert done.stderr == f"warning: {tmp_path}/page.html: sentence 1: copied\n"
    assert predict("--raw", "-i", str(tmp_path / "page.html")).stdout == "<P>ONE</P>\n<P>TWO</P>\n"


def test_a_damaged_document_is_one_line(loads, tmp_path):
    (tmp_path / "a.docx").write_bytes(b"no archive")
    done = predict("-i", str(tmp_path / "a.docx"), "-o", str(tmp_path / "out.docx"))
    assert (done.exit_code, done.stderr) == (2, f"error: {tmp_path}/a.docx: is broken\n")
    assert not (tmp_path / "out.docx").exists()


@pytest.mark.parametrize("option", ["--scores", "--json", "--alignment", "--n-best=2"])
def test_a_document_has_no_scores(loads, tmp_path, option):
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,500\nHello\n")
    done = predict("-i", str(tmp_path / "a.srt"), option)
    assert done.exit_code == 2
    assert "is translated as a whole" in done.stderr
    assert "--raw" in done.stderr


def test_translate_is_the_same(loads):
    done = CliRunner().invoke(app, ["translate", "run"], input=b"x\n")
    assert done.stdout == "X\n"


def test_search_and_changes_reach_the_predictor(loads):
    predict("decoding.batch_tokens=100", "--search", "greedy", "--n-best", "2")
    changes = ["decoding.search=greedy", "decoding.batch_tokens=100", "decoding.search.n_best=2"]
    assert loads == [("run", changes)]


def test_changes_are_those_of_the_search_that_is_named(loads):
    predict("decoding.search.temperature=5", "--search", "sampling")
    assert parse_changes(loads[0][1]) == {"decoding": {"search": {"name": "sampling", "temperature": 5}}}


def test_a_search_that_finds_one_text_has_no_n_best(monkeypatch):
    def load(run, changes, *, engine=None, features=()):
        raise ConfigError(N_BEST, "there is no such setting")

    monkeypatch.setattr(predictor, "load", load, raising=False)
    done = predict("--search", "greedy", "--n-best", "3")
    option = "--n-best: needs a search that finds several (--search beam or --search sampling)"
    assert (done.exit_code, done.stderr) == (2, f"error: {option}\n")
    assert N_BEST in predict(f"{N_BEST}=3").stderr  # as it was written


def test_texts_on_the_command_line_are_answered(loads, tmp_path):
    done = predict("good morning", "a = b", "decoding.search.size=3", text=b"not read\n")
    assert done.stdout.splitlines() == ["GOOD MORNING", "A = B"]
    assert loads == [("run", ["decoding.search.size=3"])]
    (tmp_path / "a").write_text("x\n")
    assert "--input: does not go with a text" in predict("x", "-i", str(tmp_path / "a")).stderr


def test_a_file_that_is_given_as_a_change_is_an_input(loads, tmp_path):
    (tmp_path / "te.en").write_text("x\n")
    done = predict(str(tmp_path / "te.en"))
    assert (done.exit_code, loads) == (2, [])
    assert f"is a file (to translate it: --input {tmp_path / 'te.en'}" in done.stderr


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
    found = Explanation.of_text(["red", "▁house"], ["rot", "▁Haus"], [], [[0.1, 0.9], [0.8, 0.2]])
    answer = Prediction("red house", "rot Haus", -0.5, alternatives=[Prediction("red house", "?", -2.0)])

    class Seer:
        task, setup = task_of(TranslationTask), SimpleNamespace(abilities=NATIVE, context=SourceContext({}))
        explainer = SimpleNamespace(with_evidence=list)

        def predict(self, texts, explain, **context):
            assert explain
            return [replace(answer, explanation=found) for _ in texts]

    monkeypatch.setattr(predictor, "load", lambda run, changes, *, engine=None, features=(): Seer(), raising=False)
    options = ["--alignment", "--n-best", str(n_best)]
    lines = predict(*options, text=b"red house\n").stdout.splitlines()
    assert lines[0].endswith("\t1-0 0-1")
    assert lines[1:] == ["0 ||| ? ||| -2.0000"][: n_best - 1]
    (row,) = [json.loads(line) for line in predict(*options, "--json", text=b"red house\n").stdout.splitlines()]
    assert (row["text"], row["alignment"]) == ("rot Haus", "1-0 0-1")


def test_links_of_a_language_model_are_refused(loads, monkeypatch):
    monkeypatch.setattr(Echo, "task", task_of(LanguageModelTask), raising=False)
    done = predict("--alignment", text=b"x\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: --alignment: links words of a text and its translation, and this model does not"
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [(TaggingTask, ("--n-best", "3")), (TaggingTask, ("--search", "beam")), (ClassificationTask, ("--search", "beam"))],
    ids=["best tags", "search of tags", "search of a label"],
)
def test_where_nothing_is_searched_no_search_is_named(loads, monkeypatch, kind, options):
    monkeypatch.setattr(Echo, "task", task_of(kind))
    done = predict(*options, text=b"x\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {options[0]}: chooses among texts, and this model writes none")


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
    assert (done.exit_code, done.stdout) == (2, "GUT\n")
    hint = "save it as UTF-8, for example: iconv -f latin1 -t utf-8 FILE; lines answered before it: 1"
    assert done.stderr == f"error: stdin:2: byte 0xfc, 3 of the line, is not UTF-8 ({hint})\n"
    assert "iconv -f cp1252 " in predict(text="Grüße\n“so”\n".encode("cp1252")).stderr


def test_a_control_character_of_a_wrong_encoding_is_warned_of_once(loads):
    done = predict(text="gut\nd\x92accord\nd\x92or\n".encode())
    assert done.exit_code == 0
    assert done.stderr.startswith("warning: stdin:2: holds the control character U+0092")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("bad", [b"\xff", b"x" * 2 * READ_BYTES])
@pytest.mark.parametrize("good", [0, 1000])
def test_a_bad_line_costs_none_of_those_before_it(loads, tmp_path, bad, good):
    (tmp_path / "in.txt").write_bytes(b"x\n" * good + bad + b"\ny\n")
    (tmp_path / "out.txt").write_text("older\n")
    done = predict("--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt"))
    assert done.exit_code == 2
    assert (tmp_path / "out.txt").read_text() == ("X\n" * good or "older\n")
    assert f"in.txt:{good + 1}:" in done.stderr
    assert f"lines answered before it: {good:,})" in done.stderr


def test_an_output_that_cannot_be_written_is_told_before_a_model_is_loaded(loads, tmp_path):
    done = predict("--output", str(tmp_path / "none" / "out.txt"), text=b"x\n")
    assert (done.exit_code, loads) == (2, [])
    assert done.stderr.startswith("error: --output: ") and "there is no folder" in done.stderr


def test_no_lines_in_is_no_lines_out(loads, tmp_path):
    (tmp_path / "out.txt").write_text("older\n")
    assert predict("--output", str(tmp_path / "out.txt")).exit_code == 0
    assert (tmp_path / "out.txt").read_bytes() == b""


def test_gzip_is_read_as_it_is_for_training(loads, tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"x\ny\n"))
    assert predict("--input", str(tmp_path / "in.gz")).stdout == "X\nY\n"


def test_what_can_be_read_of_a_truncated_gzip_file_is_translated(loads, tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"x\ny\n")[:-2])
    done = predict("--input", str(tmp_path / "in.gz"))
    assert (done.exit_code, done.stdout) == (2, "X\nY\n")
    assert "in.gz: damaged gzip file" in done.stderr
    assert "lines answered before it: 2" in done.stderr


def test_lines_that_are_too_long_are_told_and_left_empty(loads, tmp_path):
    (tmp_path / "in.txt").write_text("x" * READ_BYTES + "\n" + "a\ntoo long\ntoo long\nb\n")
    done = predict("--input", str(tmp_path / "in.txt"))
    assert (done.exit_code, done.stdout.splitlines()[1:]) == (0, ["A", "", "", "B"])
    problem = "9 pieces are more than this model takes: it has no answer (split it)"
    assert done.stderr.splitlines() == [f"warning: {tmp_path / 'in.txt'}:{line}: {problem}" for line in (3, 4)]
    assert "has no answer" in predict("--json", text=b"too long\n").stdout


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
    lines = [line for chunk in chunks_of_lines(Dribble(blocks), "stdin", print) for line in chunk]
    assert lines == (text.removesuffix("\n").split("\n") if text else [])


def test_a_line_is_answered_before_the_next_is_there(run_folder):
    code = (
        "from tests.cli.test_predict import Echo; from regard import predictor; from regard.cli.app import main;"
        "predictor.load = lambda run, changes, *, engine=None, features=(): Echo(); main()"
    )
    command = [sys.executable, "-c", code, "predict", str(run_folder.resolve())]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT) as work:
        for word in (b"one\n", b"two\n"):
            work.stdin.write(word)
            work.stdin.flush()
            assert work.stdout.readline() == word.upper()
        work.stdin.close()
        assert work.wait(timeout=30) == 0
