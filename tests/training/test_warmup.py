"""A warm-up takes a quarter of the training at most, whatever limits it; a run keeps the one it began with."""

import json
from types import SimpleNamespace

import pytest
import torch
from streaming import epoch_batches

from regard.errors import ConfigError
from regard.objectives import Context, LikelihoodObjective
from regard.registry import Choice
from regard.training import checkpoint as files
from regard.training import clock
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

WARMUP = 40


@pytest.fixture
def trainer(tiny, batches, tmp_path):
    def make(run=tmp_path, **limits):
        schedule = limits.pop("schedule", Choice("constant", {"warmup": WARMUP}))
        settings = TrainingSettings(
            learning_rate=0.01, schedule=schedule, log_every=1, workers=0, average=1, save_every_minutes=1e9, **limits
        )
        model = tiny(dropout=0.0)
        objective = LikelihoodObjective(Context(model))
        return Trainer(model, objective, batches(), settings=settings, run=run, progress=Progress(run))

    return make


@pytest.fixture
def timed(trainer, monkeypatch):
    """A function of the seconds that each update takes, and limits → a trainer whose clock says so."""

    def make(seconds, **limits):
        now = {"wall": 0.0}
        ticking = SimpleNamespace(monotonic=lambda: now["wall"], process_time=lambda: now["wall"] / 2)
        monkeypatch.setattr(clock, "time", ticking)
        made = trainer(**limits)
        real = made.updater.update

        def update(micro, number):
            now["wall"] += seconds(number)
            return real(micro, number)

        monkeypatch.setattr(made.updater, "update", update)
        return made.prepare()

    return make


def rates(run):
    """Share of the peak, by update."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [round(line["learning_rate"] / 0.01, 9) for line in lines]


def test_updates_limit_a_warmup(trainer, tmp_path, capfd):
    trainer(max_updates=16).prepare().train()
    assert rates(tmp_path) == [0.25, 0.5, 0.75] + [1.0] * 13
    assert "shortened to 4: the limits allow about 16" in " ".join(capfd.readouterr().err.split())


def test_a_warmup_that_fits_is_left(trainer, tmp_path, capfd):
    trainer(max_updates=4 * WARMUP).prepare()
    trainer(max_updates=8, schedule=Choice("constant")).prepare().train()
    assert rates(tmp_path) == [1.0] * 8
    assert "shortened" not in capfd.readouterr().err


def test_epochs_limit_a_warmup(trainer, batches, tmp_path):
    updates = sum(len(epoch_batches(batches(), epoch)) for epoch in range(2))
    trainer(max_epochs=2).prepare().train()
    assert rates(tmp_path).index(1.0) + 1 == updates // 4


@pytest.mark.parametrize("limit", [{"max_minutes": 1.0}, {"max_core_minutes": 0.5}], ids=str)
def test_a_time_limits_a_warmup(timed, tmp_path, limit):
    """An update takes 3 seconds on the wall and half of it of the processor, so there are 20; the first one tells."""
    timed(lambda number: 3.0, **limit).train()
    assert rates(tmp_path) == [1 / WARMUP, 0.4, 0.6, 0.8] + [1.0] * 16


@pytest.mark.parametrize("limit", [{"max_minutes": 1.0}, {"max_core_minutes": 0.5}], ids=str)
def test_a_rate_falls_until_the_time_is_over(timed, tmp_path, limit):
    """Also where updates take four times as long from the middle on."""
    timed(lambda number: 1.0 if number <= 30 else 4.0, schedule=Choice("linear"), **limit).train()
    assert rates(tmp_path)[:31] == pytest.approx([1.0, *(1 - one / 60 for one in range(1, 31))], abs=0.035)
    assert rates(tmp_path)[31:] == pytest.approx([1 - one / 60 for one in (34, 38, 42, 46, 50, 54, 58)], abs=0.035)


def test_a_rate_falls_until_the_last_update(trainer, batches, tmp_path):
    trainer(max_updates=10, schedule=Choice("linear")).prepare().train()
    assert rates(tmp_path) == pytest.approx([1 - one / 10 for one in range(1, 11)])
    other = tmp_path / "epochs"
    other.mkdir()
    trainer(other, max_epochs=2, schedule=Choice("linear")).prepare().train()
    assert rates(other)[-1] == pytest.approx(0.0, abs=0.1)


def test_a_rate_that_falls_needs_a_limit(trainer):
    with pytest.raises(ConfigError, match=r"training\.schedule\.updates: must be given"):
        trainer(schedule=Choice("cosine")).prepare()


def test_a_run_that_goes_on_keeps_its_warmup(trainer, tmp_path):
    """Interrupted in its warm-up it equals the unbroken run; with a larger limit its rate does not fall back."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for run in (whole, broken):
        run.mkdir()
    trainer(whole, max_updates=16).prepare().train()
    stopped = trainer(broken, max_updates=16).prepare()
    stopped.settings = TrainingSettings(**{**vars(stopped.settings), "max_updates": 2})
    stopped.train()
    trainer(broken, max_updates=16).prepare(resume=True).train()
    assert rates(broken) == rates(whole)
    one, other = (files.latest_valid(run)[0] for run in (whole, broken))
    assert all(torch.equal(one.model[name], other.model[name]) for name in one.model)
    trainer(broken, max_updates=400).prepare(resume=True)
    trainer(broken, max_updates=20).prepare(resume=True).train()
    assert rates(broken)[16:] == [1.0] * 4


def test_a_run_of_an_earlier_version_keeps_its_warmup(trainer, tmp_path, monkeypatch):
    """Its checkpoint notes no limits; later checkpoints of the same run remember that."""
    stopped = trainer(max_updates=16).prepare()
    stopped.settings = TrainingSettings(**{**vars(stopped.settings), "max_updates": 2})
    stopped.train()
    write = files.latest_valid

    def older(run):
        checkpoint, warnings = write(run)
        state = {name: value for name, value in checkpoint.state.items() if name != "allowed"}
        return checkpoint._replace(state=state), warnings

    with monkeypatch.context() as patch:
        patch.setattr(files, "latest_valid", older)
        trainer(max_updates=4).prepare(resume=True).train()
    trainer(max_updates=16).prepare(resume=True).train()
    assert rates(tmp_path)[2:6] == [3 / WARMUP, 4 / WARMUP, 5 / WARMUP, 6 / WARMUP]
