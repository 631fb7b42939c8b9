"""regard compare with folds: each training has a test part of its own, and all systems the same ones."""

from pathlib import Path

import pytest
from comparisons import compare, instead

from regard.errors import TrainingError

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
    assert values["systems"][1]["scores"]["accuracy"]["p_value"] is not None
    again = compare("mean.yaml", "max.yaml", "--run", "out")
    assert len(trained) == 6
    assert "90 texts of 3 folds, each of which is a test set. Mean ± standard deviation over the folds" in again.out


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
