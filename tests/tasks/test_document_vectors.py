"""Document vectors: losses and gradients by hand, inference, what a run answers and exports."""

import json

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from typer.testing import CliRunner

import regard
from regard.cli.app import app
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.data.ragged import Ragged
from regard.data.word_windows import CONTEXTS, DOCUMENT_NUMBERS, TARGETS, HashedNumbers, parted
from regard.errors import DataError
from regard.experiment import read_experiment
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs import train_run
from regard.runs.embeddings import read_embeddings
from regard.tasks import TASKS

TEXTS = ["red apples grow", "green apples fall", "red and green apples"]
ROWS = {
    "bag": ("pv_dbow", {}),
    "bag and words": ("pv_dbow", {"words": True}),
    "mean": ("pv_dm", {}),
    "concatenated": ("pv_dm", {"merge": "concatenate", "reach": 3}),
    "fewer concatenated": ("pv_dm", {"merge": "concatenate", "reach": 1}),
}


def built(row):
    examples = [Example(number, {"text": text, "document": f"d{number}"}) for number, text in enumerate(TEXTS, 1)]
    kinds = {"text": "text", "document": "document"}
    known = learn_columns(kinds, [examples], Choice("uncased_words"), shared=True)
    torch.manual_seed(3)
    name, settings = ROWS[row]
    model = MODELS.build(Choice(name, {"dim": 4, **settings}), known)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    task = TASKS.build(Choice("document_vectors", {"frequent": 0.0, "window": 2, "passes": 400}), known)
    return model.double(), task


def batch_of(task):
    """Every text with its document."""
    (batch,) = task.held({"text": TEXTS, "document": ["", "", ""]}, 1000)
    return batch._replace(columns={**batch.columns, DOCUMENT_NUMBERS: batch.lines})


def by_hand(row, model, batch):
    """Losses (word,), and the slopes of their sum by the table of documents and by that of outputs; loops and numpy."""
    documents, outputs = (one.table.detach().numpy() for one in (model.document_embedder, model.outputs))
    words = model.text_embedder.table.detach().numpy() if hasattr(model, "text_embedder") else None
    losses, of_documents, of_outputs = [], np.zeros_like(documents), np.zeros_like(outputs)
    given = (batch.columns[name].tolist() for name in (DOCUMENT_NUMBERS, CONTEXTS, TARGETS))
    for document, near, told in zip(*given, strict=True):
        v, there = documents[document], [one for one in near if one >= 0]
        if row == "mean":
            scored = [(sum([v, *(words[one] for one in there)]) / (1 + len(there)), 1 / (1 + len(there)))]
        elif "concatenated" in row:
            slots = [-1, *near, -1] if row == "concatenated" else near[1:3]  # a window of 2, 3 or 1 are read
            scored = [(np.concatenate([v, *(words[one] if one >= 0 else 0 * v for one in slots)]), 1.0)]
        else:
            scored = [(v, 1.0), *((words[one], 0.0) for one in there if row == "bag and words")]
        losses.append(0.0)
        for hidden, share in scored:
            for place, one in enumerate(told):
                sign = 1 if place == 0 else -1
                chance = 1 / (1 + np.exp(-sign * (outputs[one] @ hidden)))
                losses[-1] -= np.log(chance)
                slope = -sign * (1 - chance)
                of_outputs[one] += slope * hidden
                of_documents[document] += slope * share * outputs[one][: len(v)]
    return losses, of_documents, of_outputs


@pytest.mark.parametrize("row", ROWS)
def test_losses_and_gradients_are_those_of_the_formula(row, assert_agrees):
    model, task = built(row)
    batch = batch_of(task)
    losses = model.nll(batch)
    losses.sum().backward()
    found = losses.squeeze(-1), model.document_embedder.table.grad, model.outputs.table.grad
    assert all(parameter.grad.is_sparse for parameter in model.parameters())
    for mine, wanted in zip(found, by_hand(row, model, batch), strict=True):
        assert_agrees("E02", mine.detach().to_dense(), torch.tensor(np.array(wanted)), tolerance=1e-9)


@pytest.mark.parametrize("row", ROWS)
def test_what_is_frozen_is_the_rest_of_what_is_scored(row):
    """With v = 0 and v = 1, through the loss that training has: share · v + rest is h."""
    model, task = built(row)
    batch = batch_of(task)
    contexts, targets = batch.columns[CONTEXTS], batch.columns[TARGETS]
    share, rest = model.float().frozen(contexts)
    for number in (0.0, 1.0):
        vector = torch.full((1, 4), number)
        hidden = rest + torch.nn.functional.pad(share[:, None] * vector, (0, rest.shape[1] - 4))
        scores = (model.outputs.table[targets] @ hidden.unsqueeze(-1)).squeeze(-1)
        scores[:, 0] *= -1
        own = torch.nn.functional.softplus(scores).sum(dim=1)
        losses = model.losses(vector, (torch.zeros(len(contexts), dtype=torch.long), contexts, targets))
        if row == "bag and words":  # where words add what they tell by themselves
            others = model.losses(vector, (torch.full((len(contexts),), -1), contexts, targets))
            losses = losses - others
        assert_close(losses, own, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("row", ROWS)
def test_a_vector_is_inferred_where_the_loss_is_least(row):
    """The same windows in every pass: their loss has one least value, where its slope is 0."""
    model, task = built(row)
    model.float().requires_grad_(False)
    with torch.no_grad():
        model.outputs.table.mul_(0.3)  # so that no word is told for sure, and the least value is near
    (batch,) = task.held({"text": TEXTS[2:], "document": [""]}, 1000)
    vector = model.inferred(iter([batch] * 2000), 2000, 0.05).requires_grad_()
    given = torch.zeros(batch.count, dtype=torch.long), batch.columns[CONTEXTS], batch.columns[TARGETS]
    model.losses(vector.unsqueeze(0), given).sum().backward()
    start = torch.zeros(4, requires_grad=True)
    model.losses(start.unsqueeze(0), given).sum().backward()
    assert vector.grad.norm() < 0.05 * start.grad.norm()


def test_documents_are_learnt_from_in_parts():
    lines = Ragged.of([[5, 6, 7, 8, 9], [], [4, 4], [1, 2, 3]], np.dtype(np.int64))
    parts, documents = parted(lines, np.array([3, 0, 1, 2]), 2)
    rows = [parts.row(place).tolist() for place in range(len(documents))]
    assert rows == [[5, 6], [7, 8], [9], [], [4, 4], [1, 2], [3]]
    assert documents.tolist() == [3, 3, 3, 0, 1, 2, 2]


def _run(folder, *changes):
    """Three subjects of ten documents each, every document with words of its own."""
    subjects = [["red", "green", "apple", "pear"], ["dog", "cat", "bird", "fish"], ["car", "bus", "train", "boat"]]
    draws, lines = np.random.default_rng(1), []
    for number in range(30):
        words = [*draws.choice(subjects[number % 3], 12), *[f"name{number}"] * 12]
        lines.append(" ".join(draws.permutation(words)))
    (folder / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    given = [f"data.train={{name: numbered, file: '{folder / 'text'}'}}", "data.dev_fraction=0.2", "model.dim=16"]
    given += [
        "task={name: document_vectors, frequent: 0, window: 3}",
        "text.tokenizer={name: uncased_words, signs: false}",
    ]
    given += ["training.max_updates=200", "training.validate_every=100", "training.batch_tokens=200"]
    given += ["training.learning_rate=0.02", "training.schedule=constant", f"run={folder / 'run'}"]
    assert train_run(read_experiment(None, [*given, *changes]), quiet=True)
    return folder / "run", lines


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return _run(tmp_path_factory.mktemp("run"))


def test_a_trained_document_is_nearest_to_itself(run):
    path, lines = run
    predictor = regard.load(path)
    nearest = [one.nearest[0][0] for one in predictor.predict(lines)]
    assert sum(name == str(number) for number, name in enumerate(nearest, 1)) >= 29
    unseen = predictor.predict(["cat dog bird dog fish cat"])[0]
    assert sum(int(name) % 3 == 2 for name, _ in unseen.nearest) >= 9  # the second subject
    assert unseen.text == "\t".join(name for name, _ in unseen.nearest)
    assert unseen.score == unseen.nearest[0][1]


def test_a_vector_depends_on_nothing_but_the_text(run):
    path, lines = run
    (alone,) = regard.load(path).predict([lines[4]])
    among = regard.load(path).predict([lines[1] * 3, lines[4], "cat"])[1]
    assert among == alone
    assert len(alone.vector) == 16
    words = json.loads(json.dumps(alone.details()))
    assert words["vector"] == alone.vector and words["nearest"][0] == {"name": "5", "cosine": alone.score}


def test_a_vector_does_not_depend_on_how_many_passes_are_drawn_at_once(run, monkeypatch):
    path, lines = run
    (before,) = regard.load(path).predict([lines[4]])
    monkeypatch.setattr("regard.data.word_windows.WORDS_AT_ONCE", 100)
    assert regard.load(path).predict([lines[4]]) == [before]


@pytest.mark.parametrize("power", [1e-3, 0.02, 0.75, 1.0])
def test_negatives_of_a_new_text_are_drawn_as_in_training(power):
    """Also where the power is so small that the counts would be beyond all numbers."""
    model, task = built("bag")
    task = TASKS.build(Choice("document_vectors", {"noise_power": power, "frequent": 0.0}), task.vocabularies)
    words = np.flatnonzero(task.worded)
    model.outputs.drawn[:] = 1.0
    model.outputs.drawn[words] = torch.arange(9.0, 9.0 + len(words), dtype=model.outputs.drawn.dtype)
    bits = HashedNumbers(1, 0).of(np.zeros(100_000), np.arange(100_000))
    found = np.bincount(task._text_windows(model)._windows._noise.sample(bits), minlength=len(task.worded))
    wanted = np.where(task.worded, model.outputs.drawn.numpy(), 0.0)
    assert np.abs(found / found.sum() - wanted / wanted.sum()).max() < 0.01


def test_a_text_of_unknown_words_is_near_to_nothing(run):
    (found,) = regard.load(run[0]).predict(["unheard"], explain=True)
    assert (found.text, found.score, found.nearest, found.vector) == ("", 0.0, [], [0.0] * 16)
    assert "knows no word" in found.warning


def test_explanations_tell_how_sure_a_document_is_of_a_word(run):
    (found,) = regard.load(run[0]).predict(["cat car"], explain=True)
    shown = found.explanation
    assert shown.source_tokens == [" cat", " car", "</s>"]
    assert shown.target_tokens[:-1] == [name for name, _ in found.nearest]
    assert len(shown.weights) == 11 and all(0 < one < 1 for row in shown.weights[:-1] for one in row[:-1])


def test_documents_are_asked_for_and_exported(run, tmp_path):
    path, _ = run
    table = read_embeddings(path, "document").table
    assert sorted(table.words, key=int) == [str(number) for number in range(1, 31)]
    words = ["embeddings", str(path), "nearest", "5", "--count", "3", "--json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)[0]["word"] == table.nearest("5")[0].word
    file = tmp_path / "vectors.txt"
    words = ["embeddings", "--column", "document", str(path), "export", str(file)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert_close(torch.tensor(read_embeddings(file).table.vector("5")), torch.tensor(table.vector("5")))


def test_judged_texts_need_no_known_document(run, tmp_path):
    (tmp_path / "new.tsv").write_text("cat dog bird dog\tnew\ncar bus train bus\tother\nunheard\tnone\n")
    part = f"data.test={{name: tsv, file: '{tmp_path / 'new.tsv'}'}}"
    other, _ = _run(tmp_path, "training.max_updates=60", part)
    (score,) = evaluate([other]).systems[0].scores
    assert score.name == "loss" and 0 < score.value < 6 * np.log(2)


def test_seeds_decide_vectors(tmp_path):
    tables = []
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        path, _ = _run(tmp_path / name, f"training.seed={seed}", "training.max_updates=3", "model.name=pv_dm")
        tables.append(read_embeddings(path, "document").table.vectors)
    assert (tables[0] == tables[1]).all() and (tables[0] != tables[2]).any()


def test_one_document_is_refused(tmp_path):
    (tmp_path / "one").write_text("a b c\n")
    words = [
        f"data.train={{name: numbered, file: '{tmp_path / 'one'}'}}",
        "task=document_vectors",
        "data.dev_fraction=0",
    ]
    words += ["text.tokenizer={name: uncased_words, min_count: 1}"]
    with pytest.raises(DataError, match="needs two different documents"):
        train_run(read_experiment(None, [*words, f"run={tmp_path / 'run'}"]), quiet=True)
