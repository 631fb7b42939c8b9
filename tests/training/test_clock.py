"""Time on the wall and of the processor as one value, and how long a training says it will still take."""

from types import SimpleNamespace

import pytest

from regard.objectives import Context, LikelihoodObjective
from regard.training import clock
from regard.training import trainer as trainer_module
from regard.training.clock import Clock, ClockTime
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer


def test_both_are_added_and_divided():
    assert ClockTime(3.0, 1.0) + ClockTime(1.0, 0.5) - ClockTime(2.0, 1.0) == ClockTime(2.0, 0.5)
    assert ClockTime(3.0, 1.0) / 2 == ClockTime(1.5, 0.5)
    assert ClockTime(4.0, 2.0).rates(8) == (2.0, 4.0)


def test_a_lap_ends_where_the_next_begins(monkeypatch):
    now = {"wall": 0.0, "core": 0.0}
    times = SimpleNamespace(monotonic=lambda: now["wall"], process_time=lambda: now["core"])
    monkeypatch.setattr(clock, "time", times)
    found = Clock()
    now.update(wall=5.0, core=1.0)
    assert found.lap() == ClockTime(5.0, 1.0)
    now.update(wall=7.0, core=2.0)
    found.restart()
    now.update(wall=8.0, core=4.0)
    assert found.lap() == ClockTime(1.0, 2.0)


def test_processes_share_the_wall_and_add_up_processor_time():
    found = Clock()
    assert found.add([ClockTime(2.0, 1.0), ClockTime(2.5, 1.5)]) == ClockTime(2.0, 2.5)
    found.add([ClockTime(1.0, 1.0)])
    assert found.spent == ClockTime(3.0, 3.5)


HALT = 10_000.0  # seconds that the machine sleeps for
UPDATE, VALIDATION = 3.0, 6.0  # seconds of one, at half as many of processor time


@pytest.fixture
def told(tiny, batches, tmp_path, monkeypatch):
    """update → what is told to be left of a training that the machine has slept through once."""

    def train(**limits: float) -> dict[int, str]:
        now, found = {"wall": 0.0, "core": 0.0}, {}

        def spend(wall: float, core: float) -> None:
            now["wall"] += wall
            now["core"] += core

        def validate(_) -> dict[str, float]:
            spend(VALIDATION, VALIDATION / 2)
            return {"loss": 1.0}

        settings = TrainingSettings(
            validate_every=2, log_every=1, metric="loss", workers=0, average=1, patience=None, **limits
        )
        clocks = SimpleNamespace(monotonic=lambda: now["wall"], process_time=lambda: now["core"])
        monkeypatch.setattr(clock, "time", clocks)
        monkeypatch.setattr(
            Progress, "update", lambda self, values, left: found.update({values["update"]: left[left.rindex(" · ") :]})
        )
        model = tiny()
        trainer = Trainer(
            model, LikelihoodObjective(Context(model)), batches(), settings=settings, run=tmp_path, validate=validate,
            progress=Progress(tmp_path, quiet=True),
        )  # fmt: skip
        real = trainer.updater.update

        def update(micro, number):
            spend(UPDATE + (HALT if number == 3 else 0.0), UPDATE / 2)
            return real(micro, number)

        monkeypatch.setattr(trainer.updater, "update", update)
        trainer.prepare().train()
        return found

    return train


def test_a_halt_is_not_taken_for_slowness(told):
    """By all seconds so far it would be more than an hour. After update 5 there were two validations: an update with
    its share of them takes (5 · 3 s + 2 · 6 s) / 5.
    """
    assert told(max_updates=8)[5] == f" · {3 * 27 / 5:.0f} s left"


def test_processor_time_goes_at_the_pace_of_the_last_updates(told):
    """13.5 s of it are spent after update 5, and 60 s at two on the wall each are allowed."""
    assert told(max_core_minutes=1.0)[5] == f" · {(60 - 13.5) * 2 / 60:.0f} min left"


@pytest.mark.parametrize(("threads", "warnings"), [(1, 0), (4, 1)])
def test_starved_threads_are_told_once(told, monkeypatch, capfd, threads, warnings):
    """An update has 1.5 s of processor time in 3 s: half of a thread, an eighth of four."""
    monkeypatch.setattr(trainer_module.torch, "get_num_threads", lambda: threads)
    told(max_updates=6)
    assert capfd.readouterr().err.count("other programs use the processor") == warnings
