"""Benchmarks of translators: correlation of ranks, words taken out of references, and the curve over data sizes."""

import gzip
import json
import random

import pytest

from benchmarks import benchmark
from regard.config import Choice
from regard.results import TextPrediction
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.translations import Translations

under_translation, data_sizes = benchmark("under_translation"), benchmark("data_sizes")

PAIRS = [
    ("Two dogs sleep.", "Zwei Hunde schlafen."),
    ("Two cats sleep.", "Zwei Katzen schlafen."),
    ("Two dogs run.", "Zwei Hunde laufen."),
    ("Cats run.", "Katzen laufen."),
]


def test_equal_values_share_their_rank():
    assert under_translation.ranks([3, 1, 3, 2]).tolist() == [2.5, 0, 2.5, 1]


def test_spearman_by_hand():
    """1 - 6 · (1 + 1) / (6 · 35) for two neighbours that are exchanged."""
    found, chance = under_translation.spearman([1, 2, 3, 4, 5, 6], [10, 30, 20, 40, 50, 60])
    assert found == pytest.approx(1 - 12 / 210)
    assert chance < 0.05
    assert under_translation.spearman([1, 2, 3, 4], [4, 3, 2, 1])[0] == pytest.approx(-1)


@pytest.fixture(scope="module")
def models():
    pairs = under_translation.pairs_of(*zip(*PAIRS, strict=True))
    return fit_both(Bitext.of(pairs), ALIGNERS.build(Choice("hmm")))


def test_all_words_are_linked_and_none_dropped(models):
    found = under_translation.drops(models, under_translation.pairs_of(*zip(*PAIRS, strict=True)))
    rates = under_translation.drop_rates(found)
    assert rates == {"two": (0, 3), "dogs": (0, 2), "sleep": (0, 2), "cats": (0, 2), "run": (0, 2)}


def test_fifths_are_of_occurrences():
    """Ten of them: three words of rising entropy have 0 to 4, 4 to 8 and 8 to 10, and begin in fifths 0, 2 and 4."""
    counts = {"a": {"x": 4}, "b": {"x": 3, "y": 1}, "c": {"x": 1, "y": 1}}
    rates = {"c": (0, 2), "a": (1, 4), "b": (2, 4), "unknown": (1, 1)}
    assert under_translation.fifths_of(rates, Translations(counts)) == {"a": 0, "b": 2, "c": 4}


def test_counts_of_some_words_by_sentence():
    found = [[("a", True), ("b", False)], [("b", True)], [("a", False), ("a", True)]]
    counts = under_translation.counts_of(found, {"a"})
    assert counts.tolist() == [[1, 1], [0, 0], [1, 2]]
    assert under_translation.DropRate().value(counts.sum(axis=0)) == pytest.approx(200 / 3)


def test_equal_length_takes_the_penalty_whose_answers_are_as_long(monkeypatch, tmp_path):
    """References have four words; answers have two for each one of the penalty."""

    class Written:
        def __init__(self, changes):
            self.count = round(2 * float(changes[0].split("length_penalty: ")[1].rstrip("}")))

        def predict(self, sources):
            return [TextPrediction(one, " ".join(["w"] * self.count), 0.0) for one in sources]

    monkeypatch.setattr(under_translation, "lines", lambda name: ["a b c d"])
    monkeypatch.setattr(under_translation.regard, "load", lambda run, changes: Written(changes))
    assert under_translation.loaded(tmp_path, equal_length=True).count == 4


def test_a_word_goes_with_what_it_is_linked_to(models):
    """Of words of four letters or more: run and two stay."""
    for seed in range(3):
        assert under_translation.without_a_word(models, *PAIRS[2], random.Random(seed)) == ("Zwei laufen.", [4, 8])
    assert under_translation.without_a_word(models, "Two run", "Zwei laufen", random.Random(1)) is None


def test_files_of_a_size_are_written_once(tmp_path, monkeypatch):
    monkeypatch.setattr(data_sizes, "DATA", tmp_path)
    for language in ("en", "de"):
        (tmp_path / f"train.{language}.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n"))
    changes = data_sizes.files(tmp_path, 2)
    assert (tmp_path / "train2.en").read_text() == "one\ntwo\n"
    assert f"data.test.target={tmp_path}/test2016.de.gz" in changes and len(changes) == 6


def test_a_run_that_is_there_is_only_judged(tmp_path, monkeypatch):
    scores = [{"name": name, "value": 1.234, "interval": [1, 2]} for name in ("chrF", "BLEU")]
    asked = []

    def regard(*words: str) -> str:
        asked.append(words[0])
        return json.dumps({"systems": [{"scores": scores}]})

    monkeypatch.setattr(data_sizes, "regard", regard)
    (tmp_path / "final.json").touch()
    assert data_sizes.scores(data_sizes.trained(tmp_path, [])) == [(1.234, 1, 2)] * 2
    assert data_sizes.cell((1.234, 1, 2)) == "1.23 [1.00, 2.00]"
    data_sizes.trained(tmp_path / "new", ["data.train=x"])
    assert asked == ["evaluate", "train"]


def test_a_curve_is_drawn_of_what_was_measured(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(data_sizes, "files", lambda folder, pairs: [])
    monkeypatch.setattr(data_sizes, "trained", lambda run, words: run)
    monkeypatch.setattr(data_sizes, "scores", lambda run: [(float(run.name[-1]), 1.0, 9.0), (20.0, 10.0, 30.0)])
    sizes = ["--pairs", "1", "2", "--minutes", "1", "1", "--systems", "network"]
    monkeypatch.setattr("sys.argv", ["data_sizes.py", str(tmp_path), *sizes, "--picture", str(tmp_path / "curve.png")])
    data_sizes.main()
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| 1 | network | 1.00 [1.00, 9.00] | 20.00 [10.00, 30.00] |",
        "| 2 | network | 2.00 [1.00, 9.00] | 20.00 [10.00, 30.00] |",
    ]
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
