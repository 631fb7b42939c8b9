"""Pairs: two texts and a label, from a file to figures, explanations and what is wrong with a file."""

import json
import math
import xml.etree.ElementTree as ET

import pytest
import torch
from small_runs import regard as command
from small_runs import unsaid
from torch.testing import assert_close
from typer.testing import CliRunner

import regard
from regard.cli.app import app
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.serve.engine import explaining
from regard.tasks.pairs import PairsTask

COLOURS = ["red", "blue", "green"]
ROWS = [(f"the {thing} is {one}", f"{other} {thing}", "yes" if one == other else "no")
        for thing in ("car", "old house", "tree") for one in COLOURS for other in COLOURS]  # fmt: skip
EXAMPLES = {name: [row[place] for row in ROWS] for place, name in enumerate(("first", "second", "label"))}
MATCH = {"score": "inverse_distance", "weighting": "unnormalised"}
COMPARISONS = {
    "decomposable": {"hidden_dim": 8, "intra": {"score": "dot", "span": "distance_bias"}},
    "bcnn": {"hidden_dim": 8, "input_attention": MATCH, "pooling_attention": MATCH},
    "siamese": {"pooling": Choice("attention"), "hidden_dim": 8},
}
LOOKED_AT = {  # by what, in the order of the network
    "decomposable": [("first", "first"), ("second", "second"), ("first", "second"), ("second", "first")],
    "bcnn": [("first", "second"), ("second", "first")] * 2,
    "siamese": [("", "first"), ("", "second")],
}


@pytest.fixture(params=COMPARISONS)
def parts(request):
    rows = [Example(line, dict(zip(EXAMPLES, row, strict=True))) for line, row in enumerate(ROWS, 1)]
    columns = learn_columns(PairsTask.columns, [rows], Choice("words"), shared=True)
    comparison = Choice(request.param, COMPARISONS[request.param])
    model = MODELS.build(Choice("pair_classifier", {"dim": 8, "comparison": comparison}), columns)
    return request.param, model.double().eval(), PairsTask(columns)


def test_every_label_has_its_probability(parts):
    _, model, task = parts
    for batch in task.held(EXAMPLES, 1000):
        wanted = model.log_probs(batch).exp().detach()
        for row, found in enumerate(task.predict(model, batch)):
            assert found.probabilities == pytest.approx({"no": float(wanted[row, 0]), "yes": float(wanted[row, 1])})
            assert found.score == pytest.approx(math.log(found.probabilities[found.text]))
            assert found.source == "\t".join(ROWS[batch.lines[row]][:2])


def test_an_explanation_names_both_texts(parts):
    name, model, task = parts
    (batch,) = task.held(EXAMPLES, 1000)
    for row, found in zip(batch.lines.tolist(), task.explain(model, batch), strict=True):
        first, second, label = ROWS[row]
        assert [*map(str.strip, found.columns["first"].texts)] == [*first.split(), "</s>"]
        assert [*map(str.strip, found.columns["second"].texts)] == [*second.split(), "</s>"]
        assert found.columns["label"].texts == [label]
        assert [(one.queries, one.keys) for one in found.maps] == LOOKED_AT[name]
        for one in found.maps:
            lengths = [len(found.columns[side].texts if side else [""]) for side in (one.queries, one.keys)]
            assert list(torch.tensor(one.weights).shape[1:]) == lengths


@pytest.mark.parametrize("parts", ["bcnn"], indirect=True)
def test_the_matrix_of_abcnn_is_that_of_the_words(parts):
    """A_ij = 1 / (1 + |x_i - y_j|), x and y the embeddings; of any pair of a batch the same as alone."""
    _, model, task = parts
    (batch,) = task.held(EXAMPLES, 1000)
    for row, found in enumerate(task.explain(model, batch)):
        forth, back = (torch.tensor(one.weights[0]) for one in found.maps[:2])
        ids = [column.items[row][column.mask[row]] for column in map(batch.sequences, ("first", "second"))]
        x, y = (model.embedder(some.unsqueeze(0))[0][0].detach().float() for some in ids)
        wanted = 1 / (1 + (x.unsqueeze(1) - y).norm(dim=-1))
        assert_close(forth, wanted, rtol=0, atol=6e-5)
        assert_close(back, wanted.T, rtol=0, atol=6e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    table = "".join("\t".join(row) + "\n" for row in ROWS * 4)
    (folder / "pairs.tsv").write_text(table)
    reader = f"{{name: tsv, file: '{folder / 'pairs.tsv'}', fields: {{first: 1, second: 2, label: 3}}}}"
    data = ", ".join(f"{part}: {reader}" for part in ("train", "dev", "test"))
    for name in ("decomposable", "siamese"):
        (folder / f"{name}.yaml").write_text(
            f"task: pairs\ndata: {{{data}}}\ntext: {{tokenizer: words}}\n"
            f"model: {{dim: 16, dropout: 0.0, encoder: embeddings, comparison: {{name: {name}, hidden_dim: 32}}}}\n"
            "training: {max_updates: 150, batch_sentences: 36, learning_rate: 0.01, validate_every: 50, workers: 0}\n"
        )
    done = command("train", folder / "decomposable.yaml", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder


def test_it_learns_from_a_table(folder):
    evaluation = evaluate([folder / "run"], changes=["evaluation.metrics=[accuracy,f1,{name: mrr, relevant: yes}]"])
    assert [score.name for score in evaluation.systems[0].scores] == ["accuracy", "f1", "MRR"]
    assert min(score.value for score in evaluation.systems[0].scores) > 95


def test_a_line_to_predict_has_both_texts(folder):
    model = regard.load(folder / "run")
    same, other = model.predict(["the car is red\tred car", "the car is red\tgreen car"])
    assert (same.text, other.text) == ("yes", "no")
    assert sum(same.details()["probabilities"].values()) == pytest.approx(1.0)


def test_what_a_pair_looked_at_is_told_and_drawn(folder, tmp_path):
    def explained(*words: str) -> str:
        done = CliRunner().invoke(app, ["explain", str(folder / "run"), "the car is red\tred car", *words])
        assert done.exit_code == 0, done.stderr
        return done.stdout

    lines = explained("--plot", str(tmp_path / "a.svg")).splitlines()
    assert "second attends to first" in lines and "first attends to second" in lines
    assert sum(line.startswith("  car ← ") for line in lines) == 2
    tips = [one.text for one in ET.fromstring((tmp_path / "a.svg").read_text()).iter() if " → " in (one.text or "")]
    assert len(tips) == 2 * 4 * 2  # words of both, both ways
    told = json.loads(explained("--json"))["predictions"][0]
    assert set(told["details"]["probabilities"]) == {"no", "yes"}
    assert [(one["queries"], one["keys"]) for one in told["explanation"]["maps"]] == [
        ("first", "second"),
        ("second", "first"),
    ]


@pytest.mark.slow
def test_two_networks_are_compared_with_p_values(folder):
    words = [folder / "decomposable.yaml", folder / "siamese.yaml", "--seeds", 1, "--updates", 4, "--quiet"]
    done = command("compare", *words, "--run", folder / "compared")
    assert done.code == 0, done.said
    told = json.loads((folder / "compared" / "compare.json").read_text())
    assert [metric["name"] for metric in told["metrics"]] == ["accuracy", "f1"]
    assert told["systems"][1]["scores"]["accuracy"]["p_value"] is not None


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_an_unknown_dev_label_is_warned_of(folder, tmp_path):
    (tmp_path / "dev.tsv").write_text("a\tb\tyes\na\tb\tmaybe\n")
    done = command("train", folder / "siamese.yaml", f"data.dev.file={tmp_path / 'dev.tsv'}", "--run", tmp_path / "r")
    assert "dev.tsv: the model cannot answer 1 of 2 examples: there is no 'maybe' in example 2" in done.said


def test_a_missing_column_is_told_with_its_line(folder, tmp_path):
    (tmp_path / "train.tsv").write_text("a\tb\n" * 9)
    done = command(
        "train", folder / "siamese.yaml", f"data.train.file={tmp_path / 'train.tsv'}", "--run", tmp_path / "r"
    )
    assert done.code == 2
    assert f"{tmp_path / 'train.tsv'}:1: 2 fields, 3 are read" in done.said


def test_a_text_that_is_empty_is_skipped_and_told(folder, tmp_path):
    (tmp_path / "train.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS) + "\tred car\tyes\n")
    done = command(
        "train", folder / "siamese.yaml", f"data.train.file={tmp_path / 'train.tsv'}", "training.max_updates=1",
        "--run", tmp_path / "r",
    )  # fmt: skip
    assert done.code == 0
    assert "train.tsv: 27 examples; skipped: 1 empty on one side only (line 28)" in done.said


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("the car is red", "has 1 field, and 2 are read"),
        ("the car\tis\tred", "has 3 fields, and 2 are read"),
    ],
)
def test_a_line_that_is_no_pair_is_told(folder, line, fault):
    done = command("predict", folder / "run", given=f"the car is red\tred car\n{line}\n")
    assert unsaid(done, "stdin:2: ", fault, "first, a tab, second") == []


def test_an_empty_text_keeps_no_other_pair_from_its_answer(folder):
    pair = "the car is red\tred car\n"
    done = command("predict", folder / "run", given=f"{pair}the car is red\t \n{pair}\tred car\n{pair}no pair\n")
    assert unsaid(done, "stdin:6: has 1 field", "lines answered before it: 5") == []
    assert "stdin:2: its second is empty" in done.said and "stdin:4: its first is empty" in done.said


@pytest.mark.parametrize(("most", "shown"), [(500_000, True), (1, False)])
def test_texts_that_are_too_long_for_maps_say_so(folder, monkeypatch, most, shown):
    monkeypatch.setattr(explaining, "MOST_SHOWN", most)
    model = regard.load(folder / "run")
    (found,) = explaining.AttentionExplainer(model).explained(model.predict(["the car is red\tred car"]), maps=False)
    assert bool(found.explanation.maps) is shown
    assert ("too long for attention maps" in found.details().get("warning", "")) is not shown
