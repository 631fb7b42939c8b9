"""What a user can get wrong in labelled texts: one clear line each, with file and line."""

import json
from contextlib import nullcontext
from io import BufferedReader
from itertools import count
from pathlib import Path

import pytest
from small_runs import Done, regard, unsaid
from typer.testing import CliRunner

from regard.cli.app import app
from regard.cli.predict import _StreamedLines
from regard.config import read_settings
from regard.errors import DataError
from regard.experiment import Experiment
from regard.explain import to_json
from regard.predictor import load
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs.texts import check_languages
from regard.tasks.label_task import EMPTY_TEXT

TINY = ["task=classification", "model.encoder=embeddings", "model.dim=8", "training.max_updates=2",
        "training.validate_every=1", "training.average=1"]  # fmt: skip
ROWS = [f"{'good' if number % 2 else 'bad'}\ttext number {number}\n" for number in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.tsv").write_text("".join(ROWS))
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "a.tsv").write_text("".join(ROWS))
    assert train(folder).code == 0
    return folder / "run"


def train(folder: Path, *changes: str) -> Done:
    return regard("train", folder / "a.tsv", *TINY, *changes, "--run", folder / "run")


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_a_label_that_training_has_not_seen_is_told_with_its_number(folder):
    (folder / "dev.tsv").write_text("good\tx\nbad\ty\ngodo\tz\n")
    done = train(folder, f"data.dev={folder / 'dev.tsv'}")
    assert done.code == 0, done.said
    assert "cannot answer 1 of 3 examples: there is no 'godo' in example 3 (did you mean 'good'?)" in done.said


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_a_label_whose_examples_are_all_held_out_is_told(folder):
    (folder / "a.tsv").write_text("".join([*ROWS, *(f"rare{number}\tan only text {number}\n" for number in range(20))]))
    done = train(folder, "data.dev_fraction=0.3")
    assert done.code == 0 and "a.tsv: the model cannot answer" in done.said and "there is no 'rare" in done.said


def test_a_class_with_one_example_is_told_before_training(folder):
    (folder / "dev.tsv").write_text("".join(ROWS[:4]))
    (folder / "a.tsv").write_text("".join([*ROWS, "rare\tan only text\n"]))
    done = train(folder, f"data.dev={folder / 'dev.tsv'}", "data.test_fraction=0.0")
    assert done.code == 0, done.said
    assert "label: only one example of 'rare', which cannot be in both training and dev set" in done.said


def test_one_label_is_no_choice(folder):
    (folder / "a.tsv").write_text("".join(f"good\ttext number {number}\n" for number in range(30)))
    reader = f"data.train={{name: tsv, file: '{folder / 'a.tsv'}', fields: {{label: 1, text: 2}}}}"
    done = regard("train", reader, *TINY, "--run", folder / "run")
    assert unsaid(done, "a.tsv: column label: needs two different labels, and there is 'good'") == []


def test_empty_texts_are_left_out_and_told_by_their_lines(folder):
    (folder / "a.tsv").write_text("".join([*ROWS[:3], "good\t\n", *ROWS[3:]]))
    done = train(folder, "data.dev_fraction=0.0", "data.test_fraction=0.0", "training.max_updates=1")
    assert done.code == 0, done.said
    assert "a.tsv: 60 examples; skipped: 1 empty on one side only (line 4)" in done.said


def test_a_line_without_a_tab_is_left_out_and_gives_no_label(folder):
    (folder / "a.tsv").write_text("".join([*ROWS[:3], "lonely text\n", *ROWS[3:]]))
    done = regard("train", "--text", folder / "a.tsv", *TINY, "training.max_updates=1", "--run", folder / "run")
    assert done.code == 0, done.said
    assert "a.tsv: label in field 1 (2: bad, good), text in field 2; line 4 has fewer fields than 2" in done.said
    assert "skipped: 1 empty on one side only (line" in done.said
    assert json.loads((folder / "run" / "text" / "label" / "labels.json").read_text()) == ["bad", "good"]


def test_an_empty_text_is_answered_with_nothing_and_a_warning(trained, tmp_path):
    (tmp_path / "texts").write_text("text number 3\n\n")
    done = CliRunner().invoke(app, ["predict", str(trained)], input="text number 3\n\n")
    first, second = done.stdout.splitlines()
    assert (done.exit_code, bool(first), second) == (0, True, "")
    assert ":2: its text is empty" in done.stderr
    assert ":1:" not in done.stderr


@pytest.mark.parametrize("signs", ["true", "false"])
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_texts_of_unknown_words_are_answered_with_a_warning(folder, command, signs):
    assert train(folder, f"text.tokenizer={{name: uncased_words, signs: {signs}}}").code == 0
    given, run = ["text 3", "🎉", "中文很好", ""], str(folder / "run")
    told = {"predict": {"args": [run], "input": "\n".join(given) + "\n"}, "explain": {"args": [run, *given]}}[command]
    done = CliRunner().invoke(app, [command, *told.pop("args")], **told)
    said = " ".join(done.output.split())
    unread = "the model knows no word of the text, so the label is based on none"
    assert (done.exit_code, said.count(unread), said.count("text is empty")) == (0, 2, 1), said
    data = to_json(load(run).predict(given))["predictions"]
    assert [one["details"].get("warning") for one in data] == [None, unread, unread, EMPTY_TEXT]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("{text: 2}", "data.train.fields: is {'text': 2} (expected a field number, from 1, for each of text, label)"),
        ("{text: 2, label: 9}", "a.tsv:1: 2 fields, 9 are read"),
    ],
)
def test_a_column_that_is_missing_is_told(fields, said, folder):
    reader = f"data.train={{name: tsv, file: '{folder / 'a.tsv'}', fields: {fields}}}"
    assert unsaid(regard("train", reader, *TINY, "--run", folder / "run"), said) == []


def test_a_field_that_an_object_lacks_is_told_with_its_line(folder):
    objects = [f'{{"label": "{"ab"[number % 2]}", "text": "t {number}"}}\n' for number in range(20)]
    (folder / "a.jsonl").write_text("".join([*objects, '{"label": "a"}\n']))
    done = regard("train", folder / "a.jsonl", *TINY, "--run", folder / "run")
    assert unsaid(done, "a.jsonl:21: the object has no 'text' (there is: label)") == []


def test_an_unknown_label_of_a_test_part_is_told_by_its_number(trained, tmp_path):
    (tmp_path / "test.tsv").write_text("good\tx\nbad\ty\ngodo\tz\n")
    reader = f"{{name: tsv, file: '{tmp_path / 'test.tsv'}', fields: {{label: 1, text: 2}}}}"
    with pytest.warns(UserWarning, match="cannot answer 1 of 3 examples: there is no 'godo' in example 3"):
        evaluate([trained], changes=[f"data.test={reader}"])


def test_a_part_without_any_known_label_is_no_figure(trained, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("x\t1\ny\t0\n")
    reader = f"data.test={{name: tsv, file: '{path}', fields: {{label: 2, text: 1}}}}"
    done = regard("evaluate", trained, reader)
    assert (done.code, "%" in done.said) == (2, False)
    (tmp_path / "texts").write_text("x\ny\n")
    (tmp_path / "labels").write_text("1\n0\n")
    with pytest.raises(DataError, match="cannot answer 2 of 2 examples: there is no '1'"):
        evaluate([trained], {"text": tmp_path / "texts", "label": tmp_path / "labels"})


def test_a_test_part_whose_label_stands_elsewhere_is_told(trained, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("a first text\tgood\na second one\tbad\n")
    said = r"test\.tsv: .* knows no label of its 2 examples: label read from field 1; field 2 looks like it"
    with pytest.raises(DataError, match=said):
        evaluate([trained], changes=[f"data.test={path}"])
    path.write_text("fair\ta text\npoor\tanother\n")
    with pytest.raises(DataError, match=r"knows no label of its 2 examples \(it knows bad, good\)"):
        evaluate([trained], changes=[f"data.test={path}"])


def test_a_run_without_a_test_part_is_told_how_to_name_one(trained):
    done = regard("evaluate", trained, "--source", "x")
    assert "data.test=table.tsv, or a file for each column: data.test.text=FILE data.test.label=FILE" in done.said


def test_a_table_given_as_texts_alone_is_told_where_labels_are_missing(trained, tmp_path):
    (tmp_path / "test.tsv").write_text("good\tx\nbad\ty\n")
    done = regard("evaluate", trained, "--text", tmp_path / "test.tsv")
    assert "data.test.label: must be given (data.test=table.tsv, or a file for each column" in done.said


@pytest.mark.parametrize("command", ["evaluate", "calibrate"])
def test_examples_of_which_none_can_be_judged_have_no_figure(trained, tmp_path, command):
    (tmp_path / "test.tsv").write_text("".join(row.replace("good", "yes").replace("bad", "no") for row in ROWS))
    done = regard(command, trained / "run", f"data.test={tmp_path / 'test.tsv'}")
    assert done.code == 2 and done.said.count("error:") == 1


@pytest.mark.slow
def test_compared_runs_of_which_none_can_be_judged_have_no_figure(folder):
    (folder / "test.tsv").write_text("".join(row.replace("good", "yes").replace("bad", "no") for row in ROWS))
    for name, size in (("one", 4), ("two", 8)):
        (folder / f"{name}.yaml").write_text(
            f"task: classification\nmodel: {{encoder: embeddings, dim: {size}}}\n"
            f"data: {{train: {folder / 'a.tsv'}, test: {folder / 'test.tsv'}}}\n"
            "training: {max_updates: 1, validate_every: 1, average: 1}\n"
        )
    done = regard("compare", folder / "one.yaml", folder / "two.yaml", "--seeds", 1, "--run", folder / "compared")
    assert done.code == 2 and "error: one-seed1: label: one-seed1 cannot answer 60 of 60 examples" in done.said


@pytest.mark.parametrize(
    ("endings", "evaluated"),
    [("fr es", False), ("en fr", True), ("de en", False), ("src ref", True), ("en-GB x", True)],
)
def test_texts_in_two_other_languages_judge_nothing(tmp_path, endings, evaluated):
    """Codes that are not of two letters may name the same language otherwise."""
    files = dict(zip(("source", "target"), (f"{tmp_path}/test.{one}" for one in endings.split()), strict=True))
    experiment = read_settings(Experiment, {"data": {"languages": ["en", "de"]}})
    with nullcontext() if evaluated else pytest.raises(DataError, match=r"from (fr to es|de to en)"):
        check_languages(experiment, Choice("parallel", {"files": files}))


def test_an_array_of_labels_names_the_task_of_several(folder):
    rows = [{"text": f"text number {number}", "label": ["good", "fine"][: 1 + number % 2]} for number in range(40)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = regard("train", folder / "a.jsonl", *TINY, "--run", folder / "run")
    assert unsaid(done, "a.jsonl:1: 'label' must be a string, not an array", "task=multi_label") == []


@pytest.mark.parametrize(("task", "label"), [("classification", "label"), ("multi_label", "labels")])
def test_exchanged_texts_and_labels_are_refused(folder, task, label):
    reader = f"data.train={{name: tsv, file: '{folder / 'a.tsv'}', fields: {{text: 1, {label}: 2}}}}"
    done = regard("train", reader, *TINY, f"task={task}", "--run", folder / "run")
    assert done.code == 2 and unsaid(done, "of 60 different label", "occur once", "may be exchanged") == []


def test_a_table_to_predict_is_read_in_the_fields_of_the_run(trained, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(ROWS[:4]))
    (tmp_path / "texts.tsv").write_text("".join(row.split("\t")[1] for row in ROWS[:4]))
    tables, texts = (regard("predict", trained, "-i", tmp_path / name, "--json") for name in ("a.tsv", "texts.tsv"))
    assert "text in field 2" in tables.said and "in field" not in texts.said
    assert tables.printed == texts.printed and len(tables.printed.splitlines()) == 4


def test_lines_of_a_table_are_made_as_they_are_read():
    made = count()
    stream = BufferedReader(_StreamedLines(f"line {next(made)}" for _ in range(1_000_000)))
    assert stream.read1(20).startswith(b"line 0\nline 1\n") and next(made) < 10_000
    rows = ["a", "", "ü" * 9_000]
    short = BufferedReader(_StreamedLines(iter(rows)))
    assert b"".join(iter(lambda: short.read1(7), b"")) == f"a\n\n{rows[2]}\n".encode()


@pytest.mark.parametrize(
    ("text", "warned"), [("reviews.tzt", 1), ("data/reviews.tsv", 1), ("so good", 0), ("and/or", 0), ("24/7", 0)]
)
def test_a_name_of_no_file_is_answered_with_a_warning(trained, text, warned):
    done = regard("predict", trained, text)
    assert (done.code, done.said.count(f"there is no file '{text}'")) == (0, warned)
