"""The loss of a label and of the text that it stands on, against torch's cross entropy."""

import pytest
import torch
from networks import columns_of
from small_runs import regard, unsaid
from torch.nn import functional
from torch.testing import assert_close

from regard.models import MODELS, ROUTE
from regard.objectives import OBJECTIVES, Context
from regard.records import EOS, PAD, Batch, Decoded, Sequences
from regard.registry import Choice

ITEMS = torch.tensor([[4, 5, 6, 9, EOS], [7, 8, EOS, PAD, PAD]])
LABELS = torch.tensor([2, 0])


@pytest.fixture
def model():
    block = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    settings = {"dim": 8, "decoder": block, "dropout": 0.0}
    return MODELS.build(Choice("causal_classifier", settings), columns_of(text=11, label=3)).double()


@pytest.fixture
def batch():
    columns = {"text": Sequences(ITEMS, ITEMS != PAD), "label": LABELS}
    return Batch(columns, ROUTE, torch.arange(2), 2)


def objective(model, **settings):
    return OBJECTIVES.build(Choice("with_language_model", settings), Context(model))


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_losses_are_those_of_torch(weight, smoothing, model, batch):
    found = objective(model, weight=weight, label_smoothing=smoothing).loss(batch, "model")
    task = functional.cross_entropy(model.log_probs(batch), LABELS, label_smoothing=smoothing, reduction="sum")
    scores = model.head.log_probs(Decoded(model._states(batch)[:, :-1]), None)
    text = sum(functional.cross_entropy(row[:n], ids[:n]) for row, ids, n in zip(scores, ITEMS, (5, 3), strict=True))
    assert_close(found.sum, task + weight * text)
    assert_close(found.parts, {"loss": task.detach(), "language_model": text.detach()})
    assert found.count == 2


def test_it_halves_the_loss_of_a_text_by_default(model, batch):
    assert_close(objective(model).loss(batch, "model").sum, objective(model, weight=0.5).loss(batch, "model").sum)


def test_every_parameter_learns(model, batch):
    objective(model).loss(batch, "model").sum.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_a_model_that_writes_no_text_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{'ab'[number % 2]}\ttext {number}\n" for number in range(40)))
    words = ["task=classification", "objective=with_language_model", "--run", tmp_path / "run"]
    done = regard("train", tmp_path / "a.tsv", *words)
    assert unsaid(done, "objective: reads and writes a text with one network", "model=causal_classifier") == []


def test_a_language_model_becomes_a_classifier_from_the_command_line(tmp_path):
    texts = [f"text {number} says {'good' if number % 2 else 'bad'}" for number in range(60)]
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
    (tmp_path / "a.tsv").write_text("".join(f"{'ab'[number % 2]}\t{text}\n" for number, text in enumerate(texts)))
    block = ["model.dim=8", "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 8}"]
    ends = ["training.max_updates=2", "training.validate_every=1", "training.average=1"]
    done = regard(
        "train", "--text", tmp_path / "a.txt", "text.tokenizer=characters", *block, *ends, "--run", tmp_path / "one"
    )
    assert done.code == 0, done.said
    start = ["--from", tmp_path / "one", "objective=with_language_model"]
    done = regard("train", tmp_path / "a.tsv", *start, *ends, "--run", tmp_path / "two")
    assert done.code == 0, done.said
    said = " ".join(done.said.split())
    assert "embedder, decoder: 2,728 parameters" in said and "new: model: 18 parameters" in said, said  # 2 · 8 + 2
