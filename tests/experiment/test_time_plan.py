"""Networks and schedules for a time: chosen by the speed that is measured, told, and only where they are left open."""

import pytest

from regard.experiment import read_experiment, time_plan
from regard.experiment.sizes import SIZES, defaults_for

SECONDS = 240.0


def speeds(fast):
    """By the width of a network, so that a larger one is slower."""
    return lambda size: fast / size.dim


@pytest.mark.parametrize(
    ("pairs", "fast", "dim", "num_layers"),
    [
        (114_000, 10**9, 256, 4),  # as large as the data ask for
        (114_000, 2 * 10**6, 128, 3),
        (114_000, 10**6 / 2, 128, 2),
        (114_000, 1, 128, 2),  # nothing fits: the smallest
        (3_000, 10**9, 128, 2),  # never larger than the data ask for
    ],
)
def test_the_largest_network_with_enough_updates_is_planned(pairs, fast, dim, num_layers):
    plan = time_plan.plan_for(pairs, SECONDS, speeds(fast))
    assert (plan.size.dim, plan.size.num_layers) == (dim, num_layers)
    assert plan.updates == max(1, round(SECONDS * time_plan.TRAINING * fast / dim / plan.size.batch_tokens))


@pytest.fixture
def files(tmp_path):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(30)), encoding="utf-8")
    return [f"data.train.source={tmp_path}/a.en", f"data.train.target={tmp_path}/a.de"]


def test_a_plan_is_told_and_fits_the_time(files, monkeypatch):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 1_000.0)
    told = []
    experiment = read_experiment(None, [*files, "training.max_minutes=4"], say=told.append)
    updates = round(SECONDS * time_plan.TRAINING * 1_000 / 1_024)
    training = experiment.training
    assert (training.max_minutes, training.max_updates, training.max_epochs) == (4, None, None)
    assert training.schedule.settings["warmup"] == 50 and training.validate_every == 50
    assert told == [
        "measuring how fast this machine trains, to plan 4 minutes",
        f"planned: 2 + 2 layers of 128, 2,000 pieces, about {updates:,} updates or "
        f"{updates * 1024 / 30 / 16:.1f} epochs (1,000 tokens/s)",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["training.max_minutes=4", "model.dim=64"],
        ["training.max_minutes=4", "training.batch_tokens=100"],
        ["training.max_minutes=4", "text.tokenizer.size=100"],
        ["training.max_minutes=4", "training.batch_sentences=16", "training.batch_tokens=null"],
        ["training.max_minutes=4", "training.accumulate=2"],
        ["training.max_minutes=4", "device=cuda"],
        ["training.max_updates=4"],
    ],
    ids=str,
)
def test_what_a_person_decides_is_not_planned(files, monkeypatch, changes):
    monkeypatch.setattr(time_plan, "measured_speed", pytest.fail)
    told = []
    read_experiment(None, [*files, *changes], say=told.append)
    assert told == []


def test_the_speed_of_this_machine_is_measured(files, monkeypatch):
    monkeypatch.setattr(time_plan, "SECONDS", 0.2)
    experiment = read_experiment(None, files)
    assert 100 < time_plan.measured_speed(experiment, SIZES[0]) < 10**7


@pytest.mark.parametrize(("pairs", "every", "epochs"), [(3_000, 50, 60), (19_999, 156, 60), (114_000, 445, None)])
def test_small_data_are_validated_early_and_read_so_often(pairs, every, epochs):
    training = defaults_for(pairs)["training"]
    assert (training["validate_every"], training.get("max_epochs")) == (every, epochs)


def test_a_run_that_has_begun_keeps_its_plan(files, monkeypatch, tmp_path):
    monkeypatch.setattr(time_plan, "measured_speed", lambda experiment, size: 10.0**7)
    words = [*files, "training.max_minutes=4", f"run={tmp_path / 'run'}"]
    before = read_experiment(None, words, say=lambda line: None)
    (tmp_path / "run").mkdir()
    before.save(tmp_path / "run" / "experiment.yaml")
    monkeypatch.setattr(time_plan, "measured_speed", pytest.fail)
    assert read_experiment(None, words, say=pytest.fail) == before
