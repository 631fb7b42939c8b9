"""Captions of grids: answers, the cells that words looked at, and faults, in Python and on the command line."""

import pytest
import torch
from small_runs import regard as command
from torch.testing import assert_close

import regard
from regard.data.columns import learn_columns
from regard.data.readers import READERS
from regard.errors import DataError
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.tasks.captioning import CaptioningTask, cell_names

READER = Choice("grids", {"size": 2, "marked": 2, "examples": 12})
SETTINGS = {"dim": 8, "attention": {"score": "additive", "num_heads": 1}}


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    examples = list(READERS.build(READER, tuple(CaptioningTask.columns)))
    return {name: [example.texts[name] for example in examples] for name in CaptioningTask.columns}


@pytest.fixture
def parts():
    rows = list(READERS.build(READER, tuple(CaptioningTask.columns)))
    columns = learn_columns(CaptioningTask.columns, [rows], Choice("words"), shared=False)
    model = MODELS.build(Choice("captioner", SETTINGS), columns).double().eval().requires_grad_(False)
    return model, CaptioningTask(columns)


def test_words_looked_at_the_cells_that_the_decoder_did(parts, rows):
    model, task = parts
    (batch,) = task.held(rows, 10_000)
    decoded, _ = model.decode(batch, need_weights=True)
    for row, found in enumerate(task.explain(model, batch)):
        assert found.source_tokens == ["1,1", "1,2", "2,1", "2,2"]
        words = int(batch.sequences("target").mask[row].sum())
        assert_close(torch.tensor(found.weights).double(), decoded.weights[row, :words], rtol=0, atol=1e-6)
        cross = [one for one in found.maps if one.kind == "cross"]
        assert_close(torch.tensor(cross[0].weights[0]).double(), decoded.weights[row, :words], rtol=0, atol=1e-4)
        for cell, word in found.alignment:
            assert found.weights[word][cell] == max(found.weights[word])
        assert [word for _, word in found.alignment] == list(range(words - 1))  # all but the end


def test_given_captions_are_scored(parts, rows):
    model, task = parts
    (batch,) = task.held(rows, 10_000)
    nats = model.nll(batch).sum(dim=1)
    for found, cost in zip(task.force(model, batch), nats.tolist(), strict=True):
        assert found.score == pytest.approx(-cost)
        assert found.text in rows["target"]


def test_limits_count_cells(parts):
    assert parts[1].filter.most_ids(16) == 16 * 9


@pytest.mark.parametrize(("cells", "names"), [(1, ["1,1"]), (3, ["1", "2", "3"]), (4, ["1,1", "1,2", "2,1", "2,2"])])
def test_cells_of_a_square_have_rows_and_columns(cells, names):
    assert cell_names(cells) == names


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captions")
    reader = "{name: grids, size: 1, marked: 1, examples: %d, seed: %d}"
    parts = ", ".join(f"{part}: {reader % (count, seed)}" for part, count, seed in (("train", 300, 1), ("dev", 40, 2)))
    (folder / "grids.yaml").write_text(
        f"task: captioning\ndata: {{{parts}, test: {reader % (40, 3)}}}\ntext: {{tokenizer: words}}\n"
        "model: {dim: 32, attention: {score: additive}, decoder: {name: recurrent, hidden_dim: 32}}\n"
        "training: {max_updates: 120, batch_sentences: 20, learning_rate: 0.01, schedule: constant,"
        " validate_every: 60, average: 1}\n"
    )
    done = command("train", folder / "grids.yaml", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder


def test_it_learns_to_name_a_cell(folder):
    scores = evaluate([folder / "run", folder / "run"]).systems[0].scores
    assert scores[0].name == "exact match"
    assert scores[0].value > 50  # of sixteen captions
    (found,) = regard.load(folder / "run").predict(["0 0 1 0 1 0 0 0 1"], explain=True)
    assert (found.source, found.explanation.weights[0]) == ("0 0 1 0 1 0 0 0 1", [1.0])


def test_grids_of_as_many_cells_as_there_are_places_are_read(folder):
    cell = "0 0 1 0 1 0 0 0 1"
    run = regard.load(folder / "run")
    assert run.predict(["; ".join([cell] * 1024)])
    with pytest.raises(DataError, match="9225 pieces are more than this model takes"):
        run.predict(["; ".join([cell] * 1025)])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 0 1", "rows of 3 numbers, and all rows have 9"),
        ("a dog", "'a' is not a number"),
        ("", "there are no numbers"),
    ],
)
def test_what_is_no_grid_is_one_line(folder, text, told):
    done = command("explain", folder / "run", text)
    assert done.code == 2
    assert told in done.said
    assert done.said.count("\n") == 1


def test_captions_are_neither_calibrated_nor_withheld(folder):
    """Metrics judge a whole caption; none of its pieces is right or wrong."""
    refusal = command("calibrate", folder / "run")
    assert (refusal.code, "the answers of 'captioning' have no items that are right or wrong" in refusal.said) == (
        2,
        True,
    )
    refusal = command("predict", folder / "run", "--abstain", "0.5", given="0 0 1 0 1 0 0 0 1\n")
    assert refusal.code == 2
    assert "no items that are right or wrong" in refusal.said
    assert "regard calibrate" not in refusal.said
