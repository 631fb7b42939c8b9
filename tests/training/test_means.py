"""Means of checkpoints at the end of a training."""

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from regard.training import checkpoint as files
from regard.training.best_checkpoints import average
from regard.training.clock import ClockTime
from regard.training.model_selection import ModelSelection


def test_the_mean_may_be_taken_with_the_last(trainer):
    report = trainer([5.0, 4.0, 0.5], validate_every=3, max_updates=4, average=2, keep_best=2).prepare().train()
    assert (report.checkpoint.name, report.score) == ("average", 0.5)
    assert files.load_checkpoint(report.checkpoint).state["averaged"] == [4, 3]


@pytest.mark.parametrize(("score", "name"), [(0.5, "average"), (1.0, "step-00000002"), (math.nan, "step-00000002")])
def test_the_mean_of_the_best_is_named_if_it_is_better(trainer, tmp_path, score, name):
    made = trainer([5.0, 1.0, 4.0, 2.0, score], keep_best=3, average=2, max_updates=4)
    report = made.prepare().train()
    assert report.checkpoint.name == json.loads((tmp_path / "final.json").read_text())["checkpoint"] == name
    assert (tmp_path / files.FOLDER / "average").exists() == (name == "average")
    if name == "average":
        wanted = average([files.load_checkpoint(files.step_folder(tmp_path, update)).model for update in (2, 4)])
        found = files.load_checkpoint(report.checkpoint)
        assert all(torch.equal(found.model[key], wanted[key]) for key in wanted)
        assert (found.state["averaged"], report.score) == ([2, 4], 0.5)
    last = files.load_checkpoint(files.step_folder(tmp_path, 4)).model  # the model itself goes on from where it was
    assert all(torch.equal(value, last[key]) for key, value in made.model.state_dict().items())


@pytest.mark.parametrize(("score", "name"), [(0.5, "average"), (2.0, "step-00000001")])
def test_the_mean_may_be_of_the_last(trainer, tmp_path, score, name, kept):
    last = {"average": 3, "average_of": "last", "keep_best": 1}
    trainer([1.0, 4.0, math.nan, score], max_updates=3, **last).prepare().train()
    report = trainer([3.0, 5.0, score], max_updates=5, **last).prepare(resume=True).train()
    assert report.checkpoint.name == name
    assert kept() == [1, 2, 4, 5]  # 3 was no number
    if name == "average":
        wanted = average([files.load_checkpoint(files.step_folder(tmp_path, update)).model for update in (5, 4, 2)])
        found = files.load_checkpoint(report.checkpoint)
        assert all(torch.equal(found.model[key], wanted[key]) for key in wanted)
        assert (found.state["averaged"], report.score) == ([5, 4, 2], 0.5)


@pytest.mark.parametrize(
    ("means", "part"), [([2.5, 1.5, 1.8], 0.5), ([1.5, 1.8, 1.6], 0.75), ([2.5, 2.1, math.nan], None)]
)
def test_means_of_the_start_and_the_best_trained_weights_are_tried(trainer, tmp_path, kept, means, part):
    made = trainer([2.0, 3.0, 4.0, *means], validate_start=True, max_updates=2, keep_best=2, start_means=3)
    report = made.prepare().train()
    assert kept() == [0, 1, 2]
    if part is None:
        assert report.checkpoint == files.step_folder(tmp_path, 0)
        return
    start, best = (files.load_checkpoint(files.step_folder(tmp_path, one)).model for one in (0, 1))
    found = files.load_checkpoint(report.checkpoint)
    assert (found.state["averaged"], report.score) == ([0, 1], 1.5)
    for name, tensor in found.model.items():
        torch.testing.assert_close(tensor, (1 - part) * start[name] + part * best[name])


def test_means_of_the_start_are_of_the_mean_of_the_best(trainer, tmp_path):
    scores = [4.0, 3.0, 2.0, 1.0, 0.5]  # of the start, two updates, the mean of both, and half of its change
    made = trainer(scores, validate_start=True, max_updates=2, keep_best=3, average=2, start_means=1)
    report = made.prepare().train()
    start, *both = (files.load_checkpoint(files.step_folder(tmp_path, one)).model for one in (0, 1, 2))
    found, mean = files.load_checkpoint(report.checkpoint), average(both)
    assert (found.state["averaged"], report.score) == ([0, 2, 1], 0.5)
    for name, tensor in found.model.items():
        torch.testing.assert_close(tensor, (start[name] + mean[name]) / 2)


def test_the_mean_is_mixed_with_the_start_also_where_it_is_worse_than_the_best(trainer, tmp_path):
    scores = [4.0, 3.0, 2.0, 2.5, 0.5]  # of the start, two updates, the mean of both, and half of its change
    made = trainer(scores, validate_start=True, max_updates=2, keep_best=3, average=2, start_means=1)
    found = files.load_checkpoint(made.prepare().train().checkpoint)
    start, *both = (files.load_checkpoint(files.step_folder(tmp_path, one)).model for one in (0, 1, 2))
    assert all(torch.allclose(one, (start[name] + average(both)[name]) / 2) for name, one in found.model.items())


def test_means_are_of_the_best_by_the_metric_and_selected_by_the_criterion(trainer, kept):
    """Losses fall, and the criterion is against all trained weights, until half of the change is left."""
    scores = [(5.0, 1.0), (4.0, 0.5), (3.0, 0.4), (2.0, 0.3), (3.5, 2.0)]
    made = trainer(scores, validate_start=True, max_updates=3, keep_best=1, patience=2, start_means=1)
    report = made.prepare().train()
    assert (report.updates, report.score, kept()) == (3, 2.0, [0, 3])
    assert files.load_checkpoint(report.checkpoint).state["averaged"] == [0, 3]


@pytest.mark.parametrize(
    ("old", "later"),
    [(False, [(3.5, 3.0), (4.5, 2.0), (4.5, 2.0)]), (True, [(4.5, 3.0), (4.5, 2.0), (9.0, 1.0)])],
    ids=["this version", "an earlier one"],
)
def test_rankings_by_metric_and_criterion_are_resumed(trainer, monkeypatch, old, later):
    """The metric goes on from loss 4.0; a checkpoint of an earlier version has no ranking by it, and begins one."""
    if old:
        monkeypatch.setattr(ModelSelection, "state", state_of_before)
    trainer([(5.0, 1.0), (4.0, 0.5)], validate_start=True, max_updates=1, patience=2).prepare().train()
    monkeypatch.undo()
    resumed = trainer(later, validate_start=True, max_updates=9, patience=2)
    report = resumed.prepare(resume=True).train()
    assert (report.updates, report.score, report.reason) == (4, 3.0, "no better loss in 2 validations")


def state_of_before(selection):
    return {"best": selection.rankings.best.state(), "due": selection.due, "validated": selection.evaluated}


@pytest.mark.parametrize(("seconds", "tried"), [(0.0, 3), (10.0, 2), (30.0, 0)])
def test_a_time_limit_bounds_the_means_of_the_start(trainer, seconds, tried):
    """Of two minutes a fifth, 24 seconds, is for means."""
    made = trainer([1.0], validate_start=True, max_minutes=2.0, start_means=3)
    made.validation = ClockTime(seconds, 0.0)
    assert made._start_means() == tried


def test_a_mean_that_training_has_left_behind_is_not_named(trainer, tmp_path):
    assert trainer([2.0, 3.0, 1.0], average=2, max_updates=2).prepare().train().checkpoint.name == "average"
    report = trainer([0.5, 9.0], average=2, max_updates=3).prepare(resume=True).train()
    assert (report.checkpoint.name, report.score) == ("step-00000003", 0.5)
    assert not (tmp_path / files.FOLDER / "average").exists()


def test_each_tensor_is_its_mean_by_hand():
    models = [
        {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3.0)},
        {"a": torch.tensor([2.0, 6.0]), "b": torch.tensor(4.0)},
    ]
    found = average(models)
    assert found["a"].tolist() == [1.5, 4.0]
    assert found["b"].item() == 3.5


@given(st.floats(-(2.0**99), 2.0**99, width=32), st.integers(1, 9))
def test_equal_models_are_their_own_mean_bitwise(value, count):
    tensor = torch.full((2,), value)
    assert torch.equal(average([{"a": tensor}] * count)["a"], tensor)


def test_sums_are_taken_in_float64():
    models = [{"a": torch.tensor(value)} for value in (1e8, 1.0, -1e8)]
    assert_close(average(models)["a"], torch.tensor(1 / 3))


def test_kinds_are_kept():
    kinds = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64]
    models = [{str(kind): torch.tensor([value], dtype=kind) for kind in kinds} for value in (1, 2)]
    assert {name: (str(one.dtype), one.item()) for name, one in average(models).items()} == {
        str(kind): (str(kind), 1.5) for kind in kinds
    }


def test_counters_are_those_of_the_first():
    models = [{"n": torch.tensor(7), "b": torch.tensor(True)}, {"n": torch.tensor(8), "b": torch.tensor(False)}]
    assert average(models) == models[0]


def test_the_models_stay_as_they_are():
    models = [{"a": torch.zeros(1)}, {"a": torch.ones(1)}]
    average(models)
    assert [model["a"].item() for model in models] == [0.0, 1.0]
