"""`regard train --text`: a table or folders make a classifier, a plain text a language model."""

from pathlib import Path

import pytest
from small_runs import regard as command
from small_runs import unsaid

import regard
from regard.config import quoted
from regard.experiment import load_experiment, read_experiment, text_settings

TINY = ["model.dim=8", "model.encoder=embeddings", "training.max_updates=2", "training.validate_every=1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"a {word} film, number {n}\t{label}\n" for n in range(30) for word, label in (("good", "+"), ("bad", "-"))]
    (tmp_path / "reviews.tsv").write_text("".join(rows))
    return tmp_path / "reviews.tsv"


def test_a_table_trains_a_classifier_and_says_which_field_is_the_label(table, tmp_path):
    done = command("train", "--text", table, "--run", tmp_path / "run", *TINY)
    assert done.code == 0, done.said
    assert "reviews.tsv: label in field 2 (2: +, -), text in field 1\n" in done.said
    (found,) = regard.load(tmp_path / "run").predict(["a good film"])
    assert set(found.probabilities) == {"+", "-"}


def test_a_table_named_alone_needs_only_the_task(table):
    experiment = read_experiment(table, ["task=classification"])
    assert experiment.data.train.settings["fields"] == {"text": 1, "label": 2}


def test_another_table_of_a_trained_run_is_told_like_the_first(table, tmp_path):
    read_experiment(table, ["task=classification"]).save(tmp_path / "saved.yaml")
    (tmp_path / "one.tsv").write_text("good\t+\n")
    changed = load_experiment(tmp_path / "saved.yaml", [f"data.test={tmp_path / 'one.tsv'}"])
    assert changed.data.test.settings["fields"] == {"text": 1, "label": 2}


@pytest.mark.parametrize(("task", "last", "answer"), [("multi_label", "labels", "+, ="), ("regression", "number", "1")])
def test_a_given_table_has_the_fields_of_the_run(table, tmp_path, task, last, answer):
    """Also where rows cannot tell, as two lines of a test set do not."""
    train = f"data.train={{name: tsv, file: {table}, fields: {{{last}: 2, text: 1}}}}"
    read_experiment(None, [train, f"task={task}"]).save(tmp_path / "saved.yaml")
    (tmp_path / "one.tsv").write_text(f"good\t{answer}\nbad\t{answer}\n")
    changed = load_experiment(tmp_path / "saved.yaml", [f"data.test={tmp_path / 'one.tsv'}"])
    assert changed.data.test.settings["fields"] == {"text": 1, last: 2}


def test_folders_of_texts_train_a_classifier(tmp_path):
    for label, text in (("good", "so fine"), ("bad", "so poor")):
        (tmp_path / "data" / label).mkdir(parents=True)
        for number in range(9):
            (tmp_path / "data" / label / f"{number}.txt").write_text(f"{text} {number}\n")
    done = command("train", "--text", tmp_path / "data", "--run", tmp_path / "run", *TINY)
    assert done.code == 0, done.said
    assert (
        unsaid(command("train", "--text", tmp_path / "data" / "bad", "--run", tmp_path / "new"), "no folders with")
        == []
    )


def test_a_plain_text_makes_a_language_model(tmp_path):
    assert text_settings("novel.txt.gz") == (["task.name=language_model"], ["data.train.text='novel.txt.gz'"])


def test_a_translation_memory_makes_a_translator_not_a_language_model_of_its_markup():
    assert text_settings("old.tmx.gz") == (["task.name=translation"], ["data.train='old.tmx.gz'"])


def test_a_table_that_does_not_tell_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("".join(f"text{n},other{n}\n" for n in range(9)))
    done = command("train", "--text", tmp_path / "a.csv", "--run", tmp_path / "run")
    assert unsaid(done, "a.csv: no field looks like a label", "fields: {label: 1, text: 2}") == []


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        ([f"the text {n}\tder Text {n}" for n in range(9)], "translation"),
        (["source\ttarget", *(f"the text {n}\tder Text {n}" for n in range(9))], "translation"),
        ([f"the text {n}\tvery {('good', 'bad')[n % 2]}" for n in range(9)], "classification"),
        (["text\tlabel", *(f"the text {n}\tlike it {n}" for n in range(9))], "classification"),
    ],
)
def test_a_table_of_two_texts_is_for_a_translator(tmp_path, rows, task):
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    assert text_settings(str(tmp_path / "a.tsv")) == (
        [f"task.name={task}"],
        [f"data.train={quoted(str(tmp_path / 'a.tsv'))}"],
    )


@pytest.mark.parametrize(("keep", "kept"), [("first", "one two"), ("last", "three four")])
def test_of_a_long_text_so_many_pieces_are_read(keep, kept, tmp_path):
    rows = [f"{label}\tone two {n} {label} three four\n" for n in range(20) for label in ("a", "b")]
    (tmp_path / "long.tsv").write_text("".join(rows))
    task = f"task={{name: classification, max_pieces: 2, keep: {keep}}}"
    done = command("train", tmp_path / "long.tsv", task, "data.max_length=3", "--run", tmp_path / "run", *TINY)
    assert "examples, none skipped" in done.said
    (found,) = regard.load(tmp_path / "run").predict(["one two 7 a three four"], explain=True)
    assert "".join(found.explanation.source_tokens[:-1]).split() == kept.split()


def test_a_table_of_two_texts_and_a_label_trains_a_classifier_of_pairs(tmp_path):
    rows = [
        f"is number {n} {a}?\tnumber {n} is {b}\t{'yes' if a == b else 'no'}\n"
        for n in range(15)
        for a in ("red", "blue")
        for b in ("red", "blue")
    ]
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    done = command("train", "--text", tmp_path / "pairs.tsv", "--run", tmp_path / "run", *TINY)
    assert done.code == 0, done.said
    assert "pairs.tsv: label in field 3 (2: no, yes), first in field 1, second in field 2\n" in done.said
    (found,) = regard.load(tmp_path / "run").predict(["is number 3 red?\tnumber 3 is red"], explain=True)
    assert set(found.probabilities) == {"no", "yes"}
    assert [*found.explanation.columns] == ["first", "second", "label"]
