"""`regard shortlist`: learnt from a run's own pairs, kept in its folder, and used by every answer."""

import pytest
from small_runs import SMALL, regard

from regard.decoding.shortlist import SHORTLIST_FILE, Shortlist
from regard.errors import CheckpointError, ConfigError
from regard.predictor import load
from regard.reports.evaluation import evaluate
from regard.runs import Run, RunFolder

NUMBERS = ["one", "two", "three", "four", "five", "six"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs"]
SHORT = ["decoding.shortlist=true"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that counts: the word behind each number is that of the other language."""
    place = tmp_path_factory.mktemp("counting")
    for name, words in (("a.en", NUMBERS), ("a.de", ZAHLEN)):
        lines = (f"{words[one % 6]} {words[one % 5]} {words[one % 4]}\n" for one in range(200))
        (place / name).write_text("".join(lines), encoding="utf-8")
    sides = ["--source", place / "a.en", "--target", place / "a.de"]
    done = regard(
        "train",
        "text.tokenizer=words",
        *SMALL,
        *sides,
        "text.shared=false",
        "model.tied=target",
        "--run",
        place / "run",
        "-q",
    )
    assert done.code == 0, done.said
    done = regard("shortlist", place / "run", "--best", "1", "--common", "1")
    assert done.code == 0, done.said
    return RunFolder(place / "run")


def test_each_word_lists_its_translation(run):
    columns = Run.open(run).columns
    shortlist = Shortlist.load(run.path / SHORTLIST_FILE, len(columns["source"]), len(columns["target"]))
    for word, wort in zip(NUMBERS, ZAHLEN, strict=True):
        [piece] = columns["source"].encode(word)
        assert columns["target"].decode(shortlist.likely[piece].tolist()) == wort


def test_an_answer_has_no_other_words(run):
    """A model of two updates says anything; among the words of its list it says those."""
    predictor = load(run.path, SHORT)
    for number, wort in zip(NUMBERS, ZAHLEN, strict=True):
        answer = set(predictor.predict([number])[0].text.split())
        assert len(answer - {wort}) <= 1  # the common one


def test_its_cost_is_told(run):
    plain, short = evaluate([run.path]), evaluate([run.path], changes=SHORT)
    assert [one.name for one in short.systems] == [f"{run.path} in float32, all words", str(run.path)]
    assert short.systems[0].scores == plain.systems[0].scores


def test_a_run_without_one_says_how_to_learn_it(run, tmp_path):
    (run.path / SHORTLIST_FILE).rename(tmp_path / SHORTLIST_FILE)
    try:
        with pytest.raises(CheckpointError, match=r"is missing \(learn it from the training texts: regard shortlist"):
            load(run.path, SHORT)
    finally:
        (tmp_path / SHORTLIST_FILE).rename(run.path / SHORTLIST_FILE)


def test_what_does_not_translate_has_none(tmp_path):
    (tmp_path / "a.txt").write_text("one two three\n" * 30, encoding="utf-8")
    words = ["--text", tmp_path / "a.txt", "text.tokenizer.size=300", "model.dim=16", "training.max_updates=2"]
    small = ["model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}", "-q", "--run", tmp_path / "run"]
    done = regard("train", *words, *small)
    assert done.code == 0, done.said
    with pytest.raises(ConfigError, match="for models that translate, and this one does not"):
        load(tmp_path / "run", SHORT)
    done = regard("shortlist", tmp_path / "run")
    assert (done.code, "for models that translate" in done.said) == (2, True)
