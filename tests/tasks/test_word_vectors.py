"""Word vectors: the loss of a text by hand, neighbours, what a run answers; fastText's hash and means."""

import numpy as np
import pytest
import torch
from torch import tensor
from torch.testing import assert_close

import regard
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.data.word_windows import CONTEXTS, TARGETS
from regard.errors import ConfigError, DataError
from regard.experiment import read_experiment
from regard.models import MODELS
from regard.models.word_vectors import SpelledWords, hashed, numbered
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.results import TextPrediction
from regard.runs import train_run
from regard.tasks import TASKS

TEXTS = ["red apples grow", "green apples fall", "red and green apples"]
NGRAMS = {"buckets": 50, "min_ngram": 3, "max_ngram": 4}


def columns():
    examples = [Example(number, {"text": text}) for number, text in enumerate(TEXTS, 1)]
    return learn_columns({"text": "text"}, [examples], Choice("uncased_words"), shared=True)


def built(name="skip_gram", **settings):
    known = columns()
    torch.manual_seed(3)
    model = MODELS.build(Choice(name, {"dim": 4, **settings}), known).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model, TASKS.build(Choice("word_vectors", {"frequent": 0.0}), known)


@pytest.mark.parametrize("settings", [{}, NGRAMS], ids=["words", "spelled"])
@pytest.mark.parametrize("name", ["skip_gram", "cbow"])
def test_loss_is_that_of_the_formula(name, settings):
    model, task = built(name, **settings)
    (batch,) = task.held({"text": TEXTS}, 1000)
    vectors, outputs, wanted = model.requires_grad_(False).vectors(), model.outputs, []
    for near, told in zip(batch.columns[CONTEXTS].tolist(), batch.columns[TARGETS].tolist(), strict=True):
        read = vectors[[one for one in near if one >= 0]]
        read = read.mean(dim=0, keepdim=True) if name == "cbow" else read
        scores = read @ outputs[told].T
        wanted.append(-scores[:, 0].sigmoid().log().sum() - (-scores[:, 1:]).sigmoid().log().sum())
    assert_close(model.nll(batch), torch.stack(wanted)[:, None])
    losses = task.losses(model, [batch], {"text": TEXTS})
    assert losses[:, 0].sum() == pytest.approx(float(sum(wanted)))
    assert losses[:, 1].tolist() == [3, 3, 4]


@pytest.mark.parametrize("settings", [{}, NGRAMS], ids=["words", "spelled"])
def test_gradients_are_sparse_and_the_slopes_of_the_loss(settings):
    model, task = built(**settings)
    (batch,) = task.held({"text": TEXTS}, 1000)
    model.nll(batch).sum().backward()
    sparse = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert all(gradient.is_sparse for gradient in sparse.values())
    step = 1e-6
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)).double()
        losses = []
        with torch.no_grad():
            for move in (step, -2 * step, step):  # there, back to the other side, and home
                parameter.add_(direction, alpha=move)
                losses.append(model.nll(batch).sum())
        assert_close(
            (losses[0] - losses[1]) / (2 * step), (sparse[name].to_dense() * direction).sum(), rtol=1e-5, atol=1e-6
        )


def test_ids_are_numbered_among_those_that_are_there():
    rows, places = numbered(tensor([[5, -1, 2], [2, 2, 9]]), 10)
    assert rows.tolist() == [2, 5, 9]
    assert places.tolist() == [[1, -1, 0], [0, 0, 2]]


def test_neighbours_are_those_of_the_mean():
    model, task = built()
    ids = {one: task.text.encode(one)[0] for one in ("red", "green", "apples", "grow", "fall", "and")}
    with torch.no_grad():
        model.embedder.table.zero_()
        for word, vector in {"red": [1, 0], "green": [0, 2], "fall": [1, 1], "grow": [3, 0], "and": [-1, 0]}.items():
            model.embedder.table[ids[word], :2] = tensor(vector, dtype=torch.float64)

    batch = task.batch(task.encode([{"text": "red green"}, {"text": "red"}, {"text": "unheard"}]))
    both, one, none = task.predict(model, batch)
    assert both.text.split()[:2] == ["fall", "grow"] and both.score == pytest.approx(3 / 10**0.5, abs=1e-6)
    assert one.text.split()[:2] == ["grow", "fall"] and one.text.split()[-1] == "and"
    assert (none.text, none.score) == ("", 0.0)
    explained, *_ = task.explain(model, batch)
    assert explained.source_tokens[:2] == [" red", " green"]
    assert explained.weights[0] == pytest.approx([0.5**0.5, 0.5**0.5, 0.0])


def test_fnv_hash_has_its_published_values():
    """Of http://www.isthe.com/chongo/src/fnv/test_fnv.c: FNV-1a, 32 bits."""
    assert [hashed(text) for text in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_words_are_spelled_in_ngrams_with_their_ends():
    words = SpelledWords(["where", "it"], 3, buckets=1000, min_ngram=3, max_ngram=4)
    torch.nn.init.normal_(words.table)
    grams = ["<wh", "<whe", "whe", "wher", "her", "here", "ere", "ere>", "re>"]
    rows = [2 + hashed(gram) % 1000 for gram in grams]
    assert words.ngrams("where") == rows
    assert_close(words.word_vectors(tensor([0]))[0], words.table[[0, *rows]].mean(dim=0))
    assert_close(words(tensor([[1, 0, 1]]))[0][0, 1], words.word_vectors(tensor([0]))[0])
    assert_close(words.of_spelling("where"), words.table[rows].mean(dim=0))
    assert words.of_spelling("") is None
    letters = SpelledWords(["it"], 3, buckets=1000, min_ngram=1, max_ngram=2)
    assert letters.ngrams("it") == [1 + hashed(gram) % 1000 for gram in ("<i", "i", "it", "t", "t>")]


def _run(folder, *changes):
    (folder / "text").write_text("".join(f"{text}\n" for text in TEXTS * 20), encoding="utf-8")
    given = [
        f"data.train.text={folder / 'text'}",
        "task={name: word_vectors, frequent: 0}",
        "model.dim=8",
        "training.max_updates=3",
    ]
    given += [
        "text.tokenizer={name: uncased_words, min_count: 1}",
        "data.dev_fraction=0.1",
        "training.validate_every=2",
        f"run={folder / 'run'}",
    ]
    assert train_run(read_experiment(None, [*given, *changes]), quiet=True)
    return folder / "run"


def test_a_run_is_trained_evaluated_and_asked(tmp_path):
    run = _run(tmp_path, f"data.test.text={tmp_path / 'text'}")
    (score,) = evaluate([run]).systems[0].scores
    assert score.name == "loss" and 0 < score.value < 100
    predictor = regard.load(run)
    (prediction,) = predictor.predict(["red"], explain=True)
    assert set(prediction.text.split()) == {"apples", "grow", "green", "fall", "and"}
    assert prediction.confidence is None, "cosines are no probabilities"
    assert prediction.explanation.target_tokens[:-1] == prediction.text.split()


def test_a_text_of_one_word_is_refused(tmp_path):
    (tmp_path / "text").write_text("again again\n" * 9, encoding="utf-8")
    given = [
        f"data.train.text={tmp_path / 'text'}",
        "task=word_vectors",
        "text.tokenizer={name: uncased_words, min_count: 1}",
    ]
    with pytest.raises(DataError, match="fewer than two different words") as caught:
        train_run(read_experiment(None, [*given, f"run={tmp_path / 'run'}"]), quiet=True)
    assert caught.value.path == str(tmp_path / "text")


def test_sparse_gradients_in_shards_are_refused(tmp_path):
    (tmp_path / "text").write_text("red apples\n" * 9, encoding="utf-8")
    given = [f"data.train.text={tmp_path / 'text'}", "task=word_vectors", "text.tokenizer=uncased_words"]
    changes = [*given, "training.parallel=fsdp", f"run={tmp_path / 'run'}"]
    with pytest.raises(ConfigError, match=r"training.parallel: 'fsdp' .* sparse.*training.parallel=ddp"):
        train_run(read_experiment(None, changes), quiet=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", ["word_vectors", "document_vectors"])
def test_powers_of_the_counts_lie_between_0_and_1(task):
    with pytest.raises(ConfigError, match=r"noise_power: must be at most 1.*1.5"):
        read_experiment(None, [f"task={{name: {task}, noise_power: 1.5}}", "data.train.text=none"])


def test_longest_ngrams_shorter_than_shortest_are_refused():
    with pytest.raises(ConfigError, match="max_ngram: is 2, less than min_ngram, which is 3"):
        MODELS.build(Choice("cbow", {"buckets": 9, "max_ngram": 2}), columns())


@pytest.mark.parametrize("tokenizer", ["uncased_words", "words"])
def test_unknown_words_are_told_with_their_share(tokenizer):
    examples = [Example(1, {"text": "ab ab cd"}), Example(2, {"text": "ab cd"})]
    known = learn_columns({"text": "text"}, [examples], Choice(tokenizer), shared=True)
    task = TASKS.build(Choice("word_vectors"), known)

    def told(text):
        return task.texts.as_given(TextPrediction("", "", 0.0), {"text": text}).warning

    assert (told("ab cd"), told("")) == ("", "")
    assert told("ab xü cd yy") == "2 of 4 words (50 %) are unknown and left out: xü, yy"
    assert told("a b c d e f") == "the model knows no word of the text, so there are no neighbours: a, b, c, d, e …"


def test_a_text_of_signs_alone_has_no_word():
    examples = [Example(1, {"text": "ab cd"})]
    signless = Choice("uncased_words", {"signs": False})
    task = TASKS.build(Choice("word_vectors"), learn_columns({"text": "text"}, [examples], signless, shared=True))
    assert task.texts.as_given(TextPrediction("", "", 0.0), {"text": " !? "}).warning == (
        "the text has no word, so there are no neighbours"
    )


def test_bytes_and_specials_get_no_window():
    examples = [Example(1, {"text": "ab ab ab cd"}), Example(2, {"text": "ab cd"})]
    known = learn_columns({"text": "text"}, [examples], Choice("words", {"min_count": 2}), shared=True)
    task = TASKS.build(Choice("word_vectors"), known)
    assert [task.text.pieces([one])[0].strip() for one in np.flatnonzero(task.worded)] == ["ab", "cd"]
