"""Words that a classifier looks at: polarity by hand, and a command on a run whose weights are known."""

import json
import math

import pytest
from classifiers import ROWS, TINY
from small_runs import regard as call
from small_runs import unsaid
from typer.testing import CliRunner

from regard import load
from regard.cli.app import app
from regard.reports.attended_words import Polarity, polarity

LABELS = {"bad": 40, "good": 60}


def test_polarity_by_hand():
    """30 of 40 bad texts have the word, 15 of 60 good ones."""
    found = polarity("dull", {("dull", "bad"): 30, ("dull", "good"): 15}, LABELS)
    cells = [30.5, 15.5, 10.5, 45.5]
    assert found.label == "bad"
    assert found.log_odds == pytest.approx(math.log(30.5 * 45.5 / (15.5 * 10.5)))
    assert found.error == pytest.approx(math.sqrt(sum(1 / cell for cell in cells)))
    assert found.polar


def test_a_word_of_both_labels_is_not_polar():
    assert not polarity("film", {("film", "bad"): 20, ("film", "good"): 30}, LABELS).polar


@pytest.mark.parametrize(("log_odds", "error", "polar"), [(0.7, 0.1, True), (0.69, 0.1, False), (2.0, 1.1, False)])
def test_polar_is_twice_the_odds_and_no_chance(log_odds, error, polar):
    assert Polarity("good", log_odds, error).polar is polar


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A classifier that asks a learned question of its words, and one that takes their mean."""
    folder = tmp_path_factory.mktemp("runs")
    table, found = folder / "reviews.tsv", []
    table.write_text("".join(f"{label}\t{text}\n" for label, text in ROWS), encoding="utf-8")
    part = f"{{name: tsv, file: {table}, fields: {{label: 1, text: 2}}}}"
    (folder / "config.yaml").write_text(f"data:\n  train: {part}\n  dev: {part}\n  test: {part}\n", encoding="utf-8")
    for pooling in ("attention", "mean"):
        settings = [*TINY, f"model.pooling={pooling}"]
        done = call("train", folder / "config.yaml", "--run", folder / pooling, "--quiet", *settings)
        assert done.code == 0, done.said
        found.append(folder / pooling)
    return found


@pytest.fixture
def run(runs):
    return runs[0]


def told(run, *options):
    done = CliRunner().invoke(app, ["words", str(run), "device=cpu", "--min-count", "3", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_attention_is_a_multiple_of_an_equal_share(run):
    found = {one["word"]: one for one in json.loads(told(run, "--json"))["words"]}
    sums, times = {}, {}
    for _, text in ROWS:
        (one,) = load(run, ["device=cpu"]).predict([text], explain=True)
        weights, tokens = one.explanation.weights[0], one.explanation.source_tokens
        for token, weight in zip([token.strip() for token in tokens[:-1]], weights, strict=False):
            sums[token] = sums.get(token, 0.0) + weight * len(tokens)
            times[token] = times.get(token, 0) + 1
    assert {word: one["times"] for word, one in found.items()} == times
    for word, one in found.items():
        assert one["attention"] == pytest.approx(sums[word] / times[word], abs=1e-3)
    assert found["dull"]["polarity"]["label"] == "bad"


def test_table_and_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    lines = told(run, "--top", "2", "--plot", str(tmp_path / "words.svg")).splitlines()
    assert lines[0] == "| word | count | attention | log-odds | label |"
    assert lines[-2].startswith("of the 2 most attended words ")
    assert len([line for line in lines if line.startswith("|")]) == 4
    assert (tmp_path / "words.svg").read_text("utf-8").count("<svg") == 1


def test_a_model_that_asks_nothing_of_words_is_told(runs):
    assert unsaid(call("words", runs[1], "device=cpu"), "this run has no attention pooling") == []


def test_a_plot_of_no_word_is_not_written(run, tmp_path):
    done = call("words", run, "device=cpu", "--min-count", 10_000, "--plot", tmp_path / "words.svg")
    assert done.code == 0
    assert not (tmp_path / "words.svg").exists()
