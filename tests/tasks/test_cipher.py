"""Cipher texts: a run by frequencies and a run by CipherGAN, all that is asked of them, and faults."""

import json
import random

import pytest
from small_runs import regard as command
from small_runs import unsaid

from regard.answers.symbols import SymbolsPrediction
from regard.errors import RegardError
from regard.predictor import load
from regard.reports.evaluation import evaluate

LETTERS = "abcd"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text in which a is twice as frequent as b, b as c, c as d."""
    draws, path = random.Random(1), tmp_path_factory.mktemp("cipher") / "text"
    lines = ["".join(draws.choices(LETTERS, [8, 4, 2, 1], k=40)) for _ in range(60)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_model_is_named_by_itself_in_a_change(text, tmp_path):
    done = command("train", "--text", text, "task=cipher", "model=cipher_gan", "--plan", f"run={tmp_path / 'run'}")
    assert done.code == 0, done.said


def trained(text, name: str, *changes: str):
    run = text.parent / name
    done = command("train", "--text", text, "task=cipher", f"run={run}", *changes)
    assert done.code == 0, done.said
    return run


@pytest.fixture(scope="module")
def counted(text):
    return trained(text, "counted", "model=frequency_analysis", "objective=counted", "data.train.length=50")


@pytest.fixture(scope="module")
def adversarial(text):
    small = "model={name: cipher_gan, dim: 4, filters: 4, num_blocks: 1}", "objective.width=3", "objective.num_layers=2"
    return trained(text, "gan", *small, "training.max_updates=2", "training.validate_every=1")


def test_text_of_ones_own_is_enciphered_and_read_again(counted):
    """The alphabet is the space and four letters; three places on, a becomes d and b the space."""
    (found,) = load(counted).predict(["d abab"])
    assert isinstance(found, SymbolsPrediction)
    assert found.text == "abcdcd"
    assert (found.symbols, found.probabilities) == ([*"abcdcd"], [1.0] * 6)
    (accuracy,) = evaluate([counted]).systems[0].scores
    assert (accuracy.name, accuracy.value) == ("character accuracy", 100.0)


def test_symbols_that_training_never_saw_are_copied(counted):
    (found,) = load(counted).predict(["d?ab"])
    assert found.text == "a?cd"
    assert found.warning == "1 of 4 symbols were not in the training text: copied unchanged"
    assert found.probabilities == [1.0, 0.0, 1.0, 1.0]


def test_explanations_show_the_mapping(counted):
    """Of `d abd`, whose plain text is `abcda`: a row for each of its symbols, a column for each place."""
    (found,) = load(counted).predict(["d abd"], explain=True)
    told = found.explanation
    assert told is not None
    assert told.link.pairs == [(place, place) for place in range(5)]
    (mapping,) = told.maps
    assert (told.column(mapping.queries).texts, told.column(mapping.keys).texts) == ([*"abcd"], [*"d abd"])
    assert mapping.weights == [[[1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]]


def test_relevance_of_words_is_refused_in_one_line(counted):
    with pytest.raises(RegardError, match="does not name the words it reads"):
        load(counted).explain(["d ab"])


def test_run_of_a_gan_predicts_and_evaluates(adversarial):
    done = command("evaluate", adversarial)
    assert done.code == 0, done.said
    (found,) = load(adversarial).predict(["dab"])
    assert len(found.text) == 3
    assert json.loads(json.dumps(found.details()))["symbols"] == [*found.text]


def test_banks_of_ones_own_need_no_pairs(tmp_path, text):
    lines = text.read_text("utf-8").splitlines()
    (tmp_path / "plain").write_text("\n".join(lines[:20]) + "\n", "utf-8")
    (tmp_path / "cipher").write_text(
        "\n".join(line.translate(str.maketrans("abcd", "wxyz")) for line in lines[20:]), "utf-8"
    )
    files = f"data.train={{name: unpaired, files: {{cipher: {tmp_path / 'cipher'}, plain: {tmp_path / 'plain'}}}}}"
    counted = "model=frequency_analysis", "objective=counted", "data.dev_fraction=0", "data.test_fraction=0"
    done = command("train", "task=cipher", files, *counted, f"run={tmp_path / 'run'}")
    assert done.code == 0, done.said
    assert [one.text for one in load(tmp_path / "run").predict(["wwxyz"])] == ["aabcd"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["text.tokenizer=subwords"], ["'subwords' cuts texts into pieces", "text.tokenizer=characters"]),
        (["model=frequency_analysis"], ["objective", "model=cipher_gan"]),
        (["training.metric=blue"], ["training.metric", "character_accuracy"]),
        (["data.train.cipher=vigenera"], ["there is no 'vigenera'", "vigenere"]),
    ],
)
def test_faults_are_one_line(text, tmp_path, changes, told):
    done = command("train", "--text", text, "task=cipher", f"run={tmp_path / 'run'}", *changes)
    assert unsaid(done, *told) == []
