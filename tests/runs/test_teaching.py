"""A run that learns from corrections, and one that goes on: never worse than the weights it starts from."""

import json

import pytest
import torch
from small_runs import regard

from regard.data import toy
from regard.experiment import read_experiment
from regard.runs import Run, RunFolder
from regard.runs.teaching import choice, scores_of

SMALL = [
    "text.tokenizer.size=400", "model.dim=16", "model.encoder.num_layers=1", "model.decoder.num_layers=1",
    "model.encoder.feedforward_dim=16", "model.decoder.feedforward_dim=16",
    "decoding.search={name: greedy, max_ratio: 0.5}",
]  # fmt: skip


def write_pairs(folder, name, count, seed):
    sides = list(zip(*toy.pairs("de", count, seed), strict=True))
    files = [folder / f"{name}.en", folder / f"{name}.de"]
    for file, lines in zip(files, sides, strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    source, target = write_pairs(folder, "train", 200, 1)
    data = ["--source", source, "--target", target, "data.dev_fraction=0.1"]
    limits = ["training.max_updates=30", "training.validate_every=30", "training.average=1"]
    done = regard("train", *SMALL, *data, *limits, "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


@pytest.fixture
def better(tmp_path):
    lines = [("a dog", "ein Hund", "en", "de"), ("a dog", "ein Hund!", "en", "de"), ("x", "y", "de", "en")]
    path = tmp_path / "better.jsonl"
    rows = [dict(zip(("q", "s", "source", "target"), line, strict=True), time="now") for line in lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def weights(run):
    return RunFolder(run).checkpoint().model


@pytest.mark.parametrize("named", ["alone", "train", "corpus"])
def test_corrections_are_read_beside_old_texts(base, better, named):
    words = {"alone": [], "train": [f"data.train={better}"], "corpus": [f"data.corpora.corrections={better}"]}[named]
    experiment = read_experiment(better if named == "alone" else None, words, start=base)
    before = Run.open(base).experiment.data
    data = experiment.data
    assert (data.train, data.dev_fraction) == (before.train, before.dev_fraction)
    assert data.corpora["corrections"].name == "suggestions"
    assert tuple(data.corpora["corrections"].settings["languages"]) == ("en", "de") == data.languages
    assert data.weights["train"] > data.weights["corrections"]
    training = experiment.training
    assert training.schedule.settings["warmup"] <= training.max_updates / 10
    assert training.validate_every * 5 <= training.max_updates


def test_given_texts_take_the_place_of_the_old_ones(base, better, tmp_path):
    source, target = write_pairs(tmp_path, "other", 40, 2)
    experiment = read_experiment(better, [f"data.train.source={source}", f"data.train.target={target}"], start=base)
    assert experiment.data.train.settings["files"] == {"source": str(source), "target": str(target)}
    assert experiment.data.corpora["corrections"].name == "suggestions"


def test_old_texts_that_are_gone_are_said(base, better, tmp_path):
    said = []
    moved = base.parent / "moved"
    base.parent.joinpath("train.en").rename(moved)
    try:
        experiment = read_experiment(better, start=base, say=said.append)
    finally:
        moved.rename(base.parent / "train.en")
    assert experiment.data.train.name == "suggestions"
    assert experiment.data.dev_fraction == 0.0  # one correction is not enough
    assert any("forgetting cannot be measured" in line for line in said)


def test_teaching_keeps_the_start_unless_corrections_come_out(base, better, tmp_path):
    run = tmp_path / "taught"
    limits = ["training.max_updates=4", "training.validate_every=2", "training.learning_rate=1e-7"]
    done = regard("train", better, "--from", base, "--run", run, *limits)
    assert done.code == 0, done.said
    said = done.said
    assert "1 correction en → de; left out: 1 of de → en, 1 corrected again later" in said
    assert "0 → 0 of 1" in said
    assert {0, 2, 4} <= scores_of(RunFolder(run)).keys()
    chosen = RunFolder(run).checkpoint().state["update"]
    scores = scores_of(RunFolder(run))
    assert scores[chosen]["choice"] == max(one["choice"] for one in scores.values())


def test_what_is_worse_gives_way_to_the_start(base, tmp_path):
    source, target = write_pairs(tmp_path, "train", 60, 5)
    limits = [
        "training.max_updates=3", "training.validate_every=3", "training.learning_rate=5", "training.metric=loss",
        "training.schedule=constant", "training.average=1", "data.dev_fraction=0.2",
    ]  # fmt: skip
    run = tmp_path / "run"
    done = regard("train", "--from", base, "--source", source, "--target", target, "--run", run, *limits)
    assert done.code == 0, done.said
    assert "no checkpoint beats the start on new text within a loss of 1 on old text" in done.said
    before, after = weights(base), weights(run)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_choice_by_hand():
    assert choice(50, 30, 30) > choice(25, 31, 30) > choice(0, 30, 30)  # more corrections first
    assert choice(50, 30.2, 30) > choice(50, 30, 30)  # then the dev text
    assert choice(100, 29.5, 30) < choice(0, 30, 30)  # what is worse is behind the start
    assert choice(100, -2.1, -2.0) < choice(0, -2.0, -2.0)
    assert choice(100, 29.0, 30) < choice(100, 29.5, 30) < 0


def test_scores_are_read_from_a_log_that_ends_in_half_a_line(tmp_path):
    lines = ['{"event": "update", "update": 1}', '{"event": "validation", "update": 0, "loss": 2.5}']
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines, '{"event": "validation", "upd']), encoding="utf-8")
    assert {update: one["loss"] for update, one in scores_of(RunFolder(tmp_path)).items()} == {0: 2.5}
    assert scores_of(RunFolder(tmp_path / "none")) == {}
