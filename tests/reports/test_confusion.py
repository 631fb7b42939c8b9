"""A confusion matrix as text, as a picture and as JSON, from the command line too."""

import json
from xml.etree import ElementTree

import pytest
from classifiers import tiny_classifier_in
from small_runs import regard, unsaid
from typer.testing import CliRunner

from regard.cli.app import app
from regard.evaluation.confusion import confusion_of, tag_confusion
from regard.reports.evaluation_report import LARGEST_MATRIX, confusion_plot, confusion_text

RIGHT = ["good", "good", "good", "b<d", "b<d", "so-so"]
GIVEN = ["good", "good", "b<d", "b<d", "good", "good"]


def cells(line: str) -> list[str]:
    return line.split()


def test_text_by_hand():
    classes, matrix = confusion_text(confusion_of(GIVEN, RIGHT)).split("right, answered:")
    head, *rows = classes.strip().splitlines()
    assert cells(head) == ["class", "precision", "recall", "f1", "examples"]
    assert list(map(cells, rows)) == [
        ["b<d", "50.00", "50.00", "50.00", "2"],
        ["good", "50.00", "66.67", "57.14", "3"],
        ["so-so", "–", "0.00", "0.00", "1"],
    ]
    head, *rows = matrix.strip().splitlines()
    assert cells(head) == ["b<d", "good", "so-so"]
    assert list(map(cells, rows)) == [["b<d", "1", "1", "0"], ["good", "1", "2", "0"], ["so-so", "0", "1", "0"]]


def test_what_is_no_label_has_a_name():
    found = tag_confusion(["B-PER O B-LOC"], ["B-PER B-LOC O"])  # a place is missing, and another one is too many
    classes, matrix = confusion_text(found).split("right, answered:")
    assert "(none)" not in classes
    assert [cells(line) for line in matrix.strip().splitlines()] == [
        ["(none)", "LOC", "PER"],
        ["(none)", "0", "1", "0"],
        ["LOC", "1", "0", "0"],
        ["PER", "0", "0", "1"],
    ]
    texts = [one.text for one in ElementTree.fromstring(confusion_plot(found)).iter() if one.tag.endswith("text")]
    assert texts.count("(none)") == 2


def test_of_many_classes_only_the_figures_are_text():
    labels = [f"c{number:02}" for number in range(LARGEST_MATRIX + 1)]
    assert "answered" not in confusion_text(confusion_of(labels, labels))
    assert len(confusion_text(confusion_of(labels, labels)).splitlines()) == LARGEST_MATRIX + 2


def test_the_picture_tells_the_share_of_every_cell():
    root = ElementTree.fromstring(confusion_plot(confusion_of(GIVEN, RIGHT), "a & b"))
    told = " ".join(one.text or "" for one in root.iter() if one.tag.endswith("title"))
    texts = " ".join(one.text or "" for one in root.iter() if one.tag.endswith("text"))
    assert "a & b" in f"{told} {texts}"
    assert texts.count("so-so") == 2  # a row and a column
    assert "0.67" in told or "67" in told  # of the good ones, two are called so


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_classifier_in(tmp_path_factory.mktemp("tiny"))


def test_evaluate_tells_and_draws_it(run, tmp_path):
    words = [
        "evaluate",
        str(run),
        f"data.test={{name: tsv, file: {run.parent / 'reviews.tsv'}, fields: {{label: 1, text: 2}}}}",
    ]
    said = CliRunner().invoke(app, [*words, "--plot", str(tmp_path / "m.svg")]).stdout
    assert "precision" in said
    assert "right, answered:" in said
    assert ElementTree.parse(tmp_path / "m.svg").getroot().tag.endswith("svg")
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["systems"][0]["confusion"]
    assert found["labels"] == ["bad", "good", "so-so"]
    assert [sum(row) for row in found["counts"]] == [3, 6, 3]
    both = CliRunner().invoke(app, ["evaluate", str(run), *words[1:]]).stdout
    assert "precision" not in both
    assert "difference" in both


def test_a_matrix_of_no_labels_is_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("a b\nc\n")
    done = regard("evaluate", tmp_path / "a", "--target", tmp_path / "b", "--plot", tmp_path / "m.svg")
    assert unsaid(done, "--plot: '", "predicts no labels") == []


def test_names_of_labels_are_cut_and_further_ones_counted():
    names = [f"{number:02} {'word ' * 20}" for number in range(53)]
    *rows, last = confusion_text(confusion_of(names, names)).splitlines()
    assert (len(rows), last) == (51, "3 more classes: see --json")
    assert max(len(row.split("…")[0]) for row in rows[1:]) == 39
