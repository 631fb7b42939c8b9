"""regard embeddings: neighbours, analogies, files, pictures, and what is wrong told in one line."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.experiment import read_experiment
from regard.reports.neighbourhood import on_a_plane
from regard.runs import train_run
from regard.runs.embeddings import read_embeddings
from regard.text.vector_files import read_vectors

LINES = ["red apples grow", "green apples fall", "red and green apples"] * 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of spelled words and one of a translator."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text").write_text("\n".join(LINES), encoding="utf-8")
    tokens = "text.tokenizer={name: uncased_words, min_count: 1}"
    model = "model={name: cbow, dim: 8, buckets: 50}"
    steps = ["training.max_updates=2", "training.average=1"]
    words = [f"data.train.text={folder / 'text'}", "task=word_vectors", tokens, model, *steps]
    assert train_run(read_experiment(None, [*words, f"run={folder / 'words'}"]), quiet=True)
    sides = [f"data.train.{side}={folder / 'text'}" for side in ("source", "target")] + ["data.transforms=noise"]
    small = [
        "model.dim=16",
        "text.tokenizer=words",
        "model.encoder={name: recurrent}",
        "model.decoder={name: recurrent}",
    ]
    assert train_run(read_experiment(None, [*sides, *small, *steps, f"run={folder / 'mt'}"]), quiet=True)
    return folder


def told(*words, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["embeddings", *map(str, words)])
    assert done.exit_code == code, done.stderr
    return done.stderr if code else done.stdout


def test_nearest_are_told_with_their_cosines(runs):
    lines = [line.split("\t") for line in told(runs / "words", "nearest", "red", "-k", 3).splitlines()]
    table = read_embeddings(runs / "words").table
    assert [(float(cosine), word) for cosine, word in lines] == [
        (pytest.approx(one.cosine, abs=1e-4), one.word) for one in table.nearest("red", 3)
    ]
    found = json.loads(told(runs / "words", "nearest", "red", "--json"))
    assert {one["word"] for one in found} == set(table.words) - {"red"}


def test_spelling_gives_new_words_a_vector(runs):
    assert "reds" not in read_embeddings(runs / "words").table
    assert len(told(runs / "words", "nearest", "reds").splitlines()) == 6
    assert -1 <= float(told(runs / "words", "similarity", "reds", "red")) <= 1
    assert float(told(runs / "words", "similarity", "reds", "greens")) == float(
        told(runs / "words", "similarity", "greens", "reds")
    )  # both are told by their spelling
    assert "there is no vector of 'reds'" in told(runs / "mt", "nearest", "reds", code=2)


def test_analogies_leave_the_given_words_out(runs):
    found = [line.split("\t")[1] for line in told(runs / "words", "analogy", "red", "green", "grow").splitlines()]
    assert set(found) == {"apples", "fall", "and"}


def test_similarity_is_the_cosine(runs):
    table = read_embeddings(runs / "words").table
    found = float(told(runs / "words", "similarity", "red", "green"))
    assert found == pytest.approx(table.similarity("red", "green"), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "binary"),
    [("file", [], False), ("file", ["--binary"], True), ("file.bin", [], True), ("file.bin.gz", [], True)],
)
def test_exports_are_read_back_and_asked(runs, name, options, binary, tmp_path):
    told(runs / "words", "export", tmp_path / name, *options)
    found, table = read_vectors(tmp_path / name), read_embeddings(runs / "words").table
    assert found.words == table.words
    assert np.array_equal(found.vectors, table.vectors)
    assert told(tmp_path / name, "nearest", "red") == told(runs / "words", "nearest", "red")
    unpacked = gzip.decompress if name.endswith(".gz") else bytes
    assert unpacked((tmp_path / name).read_bytes()).isascii() != binary


@pytest.mark.parametrize("there", ["a.tsv", "a.tsv.words.tsv"])
def test_files_are_overwritten_when_told_to(runs, there, tmp_path):
    (tmp_path / there).write_text("mine")
    words = runs / "words", "export", tmp_path / "a.tsv"
    assert f"{tmp_path / there}: exists" in told(*words, code=2)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [(there, "mine")]
    told(*words, "--force")
    assert (tmp_path / there).read_text() != "mine"


def test_projector_files_have_a_word_for_each_vector(runs, tmp_path):
    told(runs / "words", "export", tmp_path / "a.tsv")
    words = (tmp_path / "a.tsv.words.tsv").read_text().splitlines()
    rows = [list(map(float, row.split("\t"))) for row in (tmp_path / "a.tsv").read_text().splitlines()]
    table = read_embeddings(runs / "words").table
    assert words == table.words
    assert np.allclose(rows, table.vectors, atol=1e-5)


def test_any_embedder_and_column_is_read(runs):
    target = told("--column", "target", runs / "mt", "nearest", "red")
    assert "apples" in target
    assert told(runs / "mt", "--column", "target", "nearest", "red") == target
    assert told(runs / "mt", "nearest", "red", "--column=target") == target
    assert told(runs / "mt", "nearest", "--column", "target", "red") == target
    assert "there is no vector of '--column'" in told(runs / "mt", "nearest", "--", "--column", code=2)
    assert "this model has no vectors of 'middle'" in told("--column", "middle", runs / "mt", "nearest", "red", code=2)


def test_a_picture_is_drawn(runs, tmp_path):
    told(runs / "words", "nearest", "red", "--plot", tmp_path / "red.svg")
    assert "apples" in (tmp_path / "red.svg").read_text()
    assert "unknown file type '.gif'" in told(runs / "words", "nearest", "red", "--plot", tmp_path / "a.gif", code=2)


def test_words_on_a_plane_keep_their_distances():
    """Unit vectors of three dims that differ in two of them."""
    angles = np.array([0.1, 0.5, 2.0, 4.0])
    vectors = np.stack([np.cos(angles), np.sin(angles), np.zeros(4)], axis=1) * [[1.0], [2], [3], [4]]
    plane = on_a_plane(vectors)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for one in range(4):
        wanted = np.linalg.norm(units - units[one], axis=1)
        assert np.allclose(np.linalg.norm(plane - plane[one], axis=1), wanted)


def test_wrong_files_and_folders_are_told_in_one_line(runs, tmp_path):
    (tmp_path / "a.txt").write_text("2 2\na 1 2\nb nan 1\n")
    assert f"{tmp_path / 'a.txt'}:3: " in told(tmp_path / "a.txt", "nearest", "a", code=2)
    assert "there is no such run, and no such file of vectors" in told(tmp_path / "none", "nearest", "a", code=2)
    assert "--tsv" in told(runs / "words", "export", tmp_path / "b", "--tsv", "--binary", code=2)
