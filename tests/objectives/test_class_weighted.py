"""Weights of classes, against torch's weighted cross entropy and by hand."""

import pytest
import torch
from small_runs import regard, unsaid
from torch.nn import functional
from torch.testing import assert_close

from regard.data.columns import Columns, learn_columns, small_columns
from regard.data.columns.label import LabelColumn
from regard.data.examples import Example
from regard.errors import CheckpointError, ConfigError
from regard.models import MODELS
from regard.objectives import OBJECTIVES, Context
from regard.objectives.class_weighted import weights_by_label
from regard.registry import Choice
from regard.tasks.classification import ClassificationTask

TEXTS = ["so good", "a bad film", "neither", "bad", "good", "bad again"]
LABELS = ["pos", "neg", "so-so: 50 %", "neg", "pos", "neg"]
WANTED = {"neg": 6 / (3 * 3), "pos": 6 / (3 * 2), "so-so: 50 %": 6 / (3 * 1)}  # N / (K · N_c)


@pytest.fixture
def columns() -> Columns:
    rows = [Example(1, {"text": text, "label": label}) for text, label in zip(TEXTS, LABELS, strict=True)]
    return learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True)


@pytest.fixture
def context(columns) -> Context:
    model = MODELS.build(Choice("classifier", {"dim": 8, "encoder": Choice("embeddings"), "dropout": 0.0}), columns)
    return Context(model.double(), ClassificationTask(columns))


def objective(context: Context, **settings: object):
    return OBJECTIVES.build(Choice("class_weighted", settings), context)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weights", [None, {"neg": 0.5, "so-so: 50 %": 4.0}])
def test_losses_are_those_of_torch(weights, smoothing, context):
    (batch,) = context.task.held({"text": TEXTS, "label": LABELS}, 1000)
    found = objective(context, class_weights=weights, label_smoothing=smoothing).loss(batch, "model")
    known = WANTED if weights is None else {"pos": 1.0, **weights}
    vector = torch.tensor([known[label] for label in sorted(known)], dtype=torch.float64)
    scores, labels = context.model.log_probs(batch), batch.columns["label"]
    assert_close(
        found.sum,
        functional.cross_entropy(scores, labels, weight=vector, label_smoothing=smoothing, reduction="sum"),
    )
    assert found.count == len(TEXTS)


def test_balanced_weights_are_one_in_the_mean(context):
    weights = objective(context).weights
    labels = torch.tensor([sorted(WANTED).index(label) for label in LABELS])
    assert_close(weights[labels].mean(), torch.tensor(1.0, dtype=torch.float64))


def test_all_weights_of_one_are_plain_likelihood(context):
    (batch,) = context.task.held({"text": TEXTS, "label": LABELS}, 1000)
    plain = OBJECTIVES.build(Choice("likelihood", {"label_smoothing": 0.1}), context).loss(batch, "model")
    assert_close(objective(context, class_weights={}, label_smoothing=0.1).loss(batch, "model").sum, plain.sum)


def test_counts_are_kept_beside_the_labels(columns, tmp_path):
    column = columns["label"]
    column.save(tmp_path)
    assert LabelColumn.load(tmp_path).counts == column.counts == (3, 2, 1)
    (tmp_path / "counts.json").write_text("[1, 2]")
    with pytest.raises(CheckpointError, match=r"counts\.json: is not a list of 3 counts"):
        LabelColumn.load(tmp_path)
    (tmp_path / "counts.json").unlink()
    assert LabelColumn.load(tmp_path).counts is None


def test_a_label_that_is_not_there_is_refused(context):
    with pytest.raises(ConfigError, match=r"class_weights: names the label 'po'.*pos"):
        objective(context, class_weights={"po": 2.0})


def test_names_are_unknown_in_a_rehearsal_alone():
    """Labels of training may be those that a rehearsal makes up: a name that is not theirs is refused."""
    kinds = ClassificationTask.columns
    made_up = small_columns(kinds, shared=True)["label"]
    assert weights_by_label(made_up, {"other": 2.0}).tolist() == [1.0, 1.0]
    rows = [Example(line, {"text": "a", "label": label}) for line, label in enumerate(made_up.labels)]
    learnt = learn_columns(kinds, [rows], Choice("words"), shared=True)["label"]
    assert learnt.labels == made_up.labels
    with pytest.raises(ConfigError, match="class_weights: names the label 'other'"):
        weights_by_label(learnt, {"other": 2.0})


def test_a_model_without_classes_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a b\n" * 20)
    done = regard("train", "--text", tmp_path / "a.txt", "objective=class_weighted", "--run", tmp_path / "run")
    assert unsaid(done, "objective: needs a model that chooses one class") == []


def test_it_trains_from_the_command_line(tmp_path):
    rows = "".join(f"{'rare' if number % 10 == 0 else 'often'}\ttext {number}\n" for number in range(60))
    (tmp_path / "a.tsv").write_text(rows)
    words = ["task=classification", "model.encoder=embeddings", "model.dim=8", "training.max_updates=2"]
    weights = "objective={name: class_weighted, class_weights: {rare: 9}}"
    done = regard("train", tmp_path / "a.tsv", *words, weights, "--run", tmp_path / "run", "--quiet")
    assert done.code == 0, done.said
    wrong = regard("train", tmp_path / "a.tsv", *words, weights.replace("rare", "rar"), "--run", tmp_path / "new")
    assert unsaid(wrong, "objective.class_weights: names the label 'rar'") == []
