"""regard compare with folds: each training has a test part of its own, and all systems the same ones."""

from collections import Counter
from pathlib import Path

import pytest
from comparisons import compare, instead

from regard.errors import TrainingError
from regard.evaluation.significance import wilcoxon
from regard.runs import Run
from regard.runs.texts import evaluation_reader

COUNT = 90
CONFIG = """
task: classification
data: {train: {name: tsv, file: a.tsv, fields: {label: 1, text: 2}}, folds: 3}
model: {dim: 8, encoder: embeddings, position: null, pooling: mean}
text: {tokenizer: {name: words}}
training: {max_updates: 2, validate_every: 1, log_every: 1, average: 1}
evaluation: {metrics: [accuracy]}
"""


@pytest.fixture(autouse=True)
def configs(folder) -> Path:
    rows = [f"{'good' if number % 3 else 'bad'}\ttext {number}\n" for number in range(COUNT)]
    (folder / "a.tsv").write_text("".join(rows))
    (folder / "mean.yaml").write_text(CONFIG)
    (folder / "max.yaml").write_text(CONFIG.replace("mean", "max"))
    return folder


def test_every_fold_is_trained_and_judged_once(trained):
    said = compare("mean.yaml", "max.yaml", "--json", "--run", "out")
    values = said.values
    assert trained == [f"{name}-fold{fold}" for fold in (1, 2, 3) for name in ("mean", "max")]
    assert (values["folds"], values["sentences"], values["by_length"]) == (3, COUNT, [])
    for system in values["systems"]:
        score = system["scores"]["accuracy"]
        assert len(score["values"]) == 3
        assert score["mean"] == pytest.approx(sum(score["values"]) / 3)
    found = values["systems"][1]["scores"]["accuracy"]
    assert found["p_value"] is not None
    first = values["systems"][0]["scores"]["accuracy"]["values"]
    assert found["wilcoxon_p_value"] == wilcoxon([b - a for a, b in zip(first, found["values"], strict=True)])
    assert 0 <= found["mcnemar"]["p_value"] <= 1
    bag = values["bag_of_words"]["accuracy"]
    assert [*bag] == ["bag of words", "mean", "max"]
    assert bag["mean"]["difference"] == pytest.approx(bag["mean"]["mean"] - bag["bag of words"]["mean"])
    assert len(bag["bag of words"]["values"]) == 3
    again = compare("mean.yaml", "max.yaml", "--run", "out")
    assert "A bag of words on the same texts" in again.out
    assert len(trained) == 6
    assert "McNemar p" in again.out and "Wilcoxon p" in again.out
    assert "90 texts of 3 folds, each of which is a test set. Mean ± standard deviation over the folds" in again.out


def test_folds_of_labels_are_stratified(trained):
    """Every third text is bad: each of six folds has five."""
    config = Path("mean.yaml")
    config.write_text(CONFIG.replace(", folds: 3", ""))
    values = compare("mean.yaml", "--folds", 6, "--updates", 1, "--json", "--run", "out").values
    assert trained == [f"mean-fold{fold}" for fold in range(1, 7)]
    assert (values["folds"], values["sentences"]) == (6, COUNT)
    found = evaluation_reader(Run.open(Path("out/mean-fold2")).experiment, "test")
    assert Counter(example.texts["label"] for example in found) == {"good": 10, "bad": 5}


def test_folds_are_stratified_unless_that_is_refused(trained):
    config = Path("mean.yaml")
    config.write_text(CONFIG.replace(", folds: 3", ""))
    for said, kept in ((False, False), (True, True)):
        words = ["mean.yaml", f"data.stratified={str(said).lower()}", "--folds", 2, "--updates", 1, "--json"]
        compare(*words, "--run", f"out-{said}")
        assert Run.open(Path(f"out-{said}/mean-fold1")).experiment.data.stratified == kept


def test_of_a_failed_fold_no_system_is_judged(monkeypatch):
    def train(experiment, real, **settings):
        if experiment.run.name == "max-fold2":
            raise TrainingError("lost")
        return real(experiment, **settings)

    instead(monkeypatch, train)
    values = compare("mean.yaml", "max.yaml", "--json").values
    assert values["folds"] == 2
    assert [[run["seed"] for run in one["runs"]] for one in values["systems"]] == [[1, 3], [1, 3]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", 4], "--seeds: is 4, and there are 3 folds"),
        (["data.fold=2"], "data.fold: is set for each run by the comparison"),
        (["--grid", "data.folds=3,5"], "is evaluated on"),
    ],
)
def test_folds_that_do_not_fit_are_refused(words, said):
    done = compare("mean.yaml", *words)
    assert (done.code, said in done.err) == (2, True), done.err
