"""A bag of words that starts from log-count ratios: by hand, scaled, and never over the weights of another run."""

import math

import pytest
import torch
from torch.testing import assert_close

import regard
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.errors import ConfigError
from regard.models import MODELS
from regard.records import LABEL, TEXT
from regard.registry import Choice
from regard.runs import RunFolder
from regard.tasks.classification import ClassificationTask
from regard.training.checkpoint import weights_of

POSITIVE = ["a good film", "so good", "good good film"]
NEGATIVE = ["a bad film", "bad", "bad and long film"]
EXAMPLES = {"text": POSITIVE + NEGATIVE, "label": ["pos"] * 3 + ["neg"] * 3}


def started(order=1, dim=4, **settings):
    """A classifier, its columns and its batches; of the labels neg is the first."""
    rows = [
        Example(line, {"text": text, "label": label})
        for line, (text, label) in enumerate(zip(*EXAMPLES.values(), strict=True), 1)
    ]
    columns = learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True)
    embedder = Choice("word_ngrams", {"order": order, "buckets": 100, "std": 0.0, "ngram_std": 0.0})
    chosen = {"embedder": embedder, "encoder": Choice("embeddings"), "pooling": Choice("mean"), **settings}
    own = {"dim": dim, "position": None, "naive_bayes_start": True, **chosen}
    model = MODELS.build(Choice("classifier", own), columns)
    batches = ClassificationTask(columns).held(EXAMPLES, 8)
    model.start_as_naive_bayes(batches)
    return model, columns, batches


def test_each_label_has_a_dimension_of_ratios():
    model, columns, _ = started()
    words = len(columns[TEXT])
    sums = 3 + 2 + 2 + 3 + words, 3 + 1 + 4 + 3 + words  # distinct words and the end of each text, and 1 for each word
    for word, good, bad in (("good", 3, 0), ("film", 2, 2), ("long", 0, 1)):
        (place,) = columns[TEXT].encode(word)
        ratio = math.log((1 + good) / sums[0] / ((1 + bad) / sums[1]))
        assert_close(model.embedder.table[place].detach() / 0.2, torch.tensor([-ratio, ratio, 0, 0]))


@pytest.mark.parametrize("order", [1, 2])
def test_scores_have_the_standard_deviation_of_one(order):
    model, _, batches = started(order)
    with torch.no_grad():
        scores = torch.cat([model.features(batch) @ model.to_class.weight.T for batch in batches])
        chances = torch.cat([model.log_probs(batch).exp() for batch in batches])
    assert float((scores - scores.mean(dim=0)).square().mean()) == pytest.approx(1)
    right = torch.cat([batch.columns[LABEL] for batch in batches])
    assert (scores - scores.mean(dim=0)).argmax(dim=1).equal(right) and chances.isfinite().all()


def test_labels_for_more_than_half_of_the_dimensions_start_at_random():
    model, _, _ = started(dim=3)
    assert not model.embedder.table.any() and model.to_class.weight.any()


@pytest.mark.parametrize("other", [{"pooling": Choice("max")}, {"embedder": Choice("words")}])
def test_only_a_bag_of_words_has_such_a_start(other):
    with pytest.raises(ConfigError, match="naive_bayes_start"):
        started(**other)


def test_a_run_that_starts_from_another_keeps_its_weights(tmp_path):
    table, turned = tmp_path / "a.tsv", tmp_path / "b.tsv"
    for path, labels in ((table, EXAMPLES["label"]), (turned, EXAMPLES["label"][::-1])):
        rows = [f"{label}\t{text}\n" for text, label in zip(EXAMPLES["text"], labels, strict=True)]
        path.write_text("".join(rows * 4), encoding="utf-8")
    brief = ["training.max_updates=1", "model.embedder.buckets=100", "training.validate_every=1"]
    regard.train(text=table, run=tmp_path / "first", quiet=True, changes=brief)
    still = [*brief, "training.learning_rate=1e-12"]
    regard.train(text=turned, run=tmp_path / "second", start=tmp_path / "first", quiet=True, changes=still)
    old, new = (weights_of(RunFolder(tmp_path / name).checkpoint()) for name in ("first", "second"))
    assert old.keys() == new.keys()
    for name, value in old.items():
        assert_close(new[name], value)


def test_numbers_have_no_such_start(tmp_path):
    table = tmp_path / "a.tsv"
    table.write_text("".join(f"{len(text)}.5\t{text}\n" for text in EXAMPLES["text"] * 10), encoding="utf-8")
    asked = ["task=regression", "training.max_updates=1", "model.naive_bayes_start=true"]
    with pytest.raises(ConfigError, match="naive_bayes_start"):
        regard.train(text=table, run=tmp_path / "run", quiet=True, changes=asked)
