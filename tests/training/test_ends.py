"""How training ends: limits, patience, the best and their mean; a loss that is no number."""

import json
import math
import shutil
from functools import partial

import pytest
import torch
from streaming import epoch_batches

from regard.errors import CheckpointError, DataError, TrainingError
from regard.objectives import LikelihoodObjective
from regard.records import Loss
from regard.registry import Choice
from regard.training import checkpoint as files
from regard.training import clock
from regard.training.progress import Progress


class Failing(LikelihoodObjective):
    """Its loss is no number from some call on."""

    def __init__(self, context, at):
        super().__init__(context)
        self.left = at

    def loss(self, batch, turn):
        self.left -= 1
        found = super().loss(batch, turn)
        return found if self.left else Loss(found.sum * math.nan, found.count, {})


class Clock:
    """Clocks that go on by so many seconds each time somebody looks."""

    def __init__(self, *, monotonic: float = 0.0, process_time: float = 0.0) -> None:
        self.steps, self.now = {"monotonic": monotonic, "process_time": process_time}, {}

    def monotonic(self) -> float:
        return self._look("monotonic")

    def process_time(self) -> float:
        return self._look("process_time")

    def _look(self, name: str) -> float:
        self.now[name] = self.now.get(name, 0.0) + self.steps[name]
        return self.now[name]


def test_after_so_many_updates(trainer, tmp_path):
    report = trainer(max_updates=7).prepare().train()
    assert (report.updates, report.reason, report.score) == (7, "max_updates=7 is reached", None)
    assert report.checkpoint == files.step_folder(tmp_path, 7)
    assert json.loads((tmp_path / "final.json").read_text())["checkpoint"] == "step-00000007"


def test_after_so_many_epochs(trainer, batches):
    plans = [len(epoch_batches(batches(), epoch)) for epoch in range(2)]
    report = trainer(max_epochs=2).prepare().train()
    assert (report.updates, report.reason) == (sum(plans), "max_epochs=2 is reached")


def test_after_so_many_minutes_of_all_parts(trainer, monkeypatch):
    monkeypatch.setattr(clock, "time", Clock(monotonic=1.0))
    first = trainer(max_minutes=1.0).prepare().train()
    assert first.reason == "max_minutes=1 is reached"
    assert 60 <= first.seconds < 75
    second = trainer(max_minutes=2.0).prepare(resume=True).train()
    assert second.updates > first.updates
    assert 120 <= second.seconds < 140
    assert second.updates < 2.6 * first.updates


@pytest.mark.parametrize("average", [1, 5])
def test_a_time_limit_includes_the_last_validations(trainer, monkeypatch, average):
    """Each takes 20 of 300 seconds: one of the last update, and one of the average."""
    watch = Clock(monotonic=1.0)
    monkeypatch.setattr(clock, "time", watch)
    made = trainer([5.0], max_minutes=5.0, validate_every=50, average=average)
    validations = []

    def validate(should_stop):
        validations.append(watch.now["monotonic"])
        watch.now["monotonic"] += 20.0
        return {"loss": 9.0 - len(validations)}

    made.selection.validate = validate
    report = made.prepare().train()
    assert report.reason == "max_minutes=5 is reached"
    assert 278 <= report.seconds <= 302  # no further update whose validation would not fit
    assert len(validations) > 3


def test_no_update_is_begun_whose_validation_does_not_fit(trainer, monkeypatch):
    """Each update is validated, for 20 of 60 seconds: the third one would end after them."""
    watch = Clock(monotonic=1.0)
    monkeypatch.setattr(clock, "time", watch)
    made = trainer(max_minutes=1.0)

    def validate(should_stop):
        watch.now["monotonic"] += 20.0
        return {"loss": 1.0}

    made.selection.validate = validate
    report = made.prepare().train()
    assert report.updates == 2
    assert report.seconds <= 60


def test_after_so_many_minutes_of_processor_time_of_all_parts(trainer, monkeypatch, tmp_path):
    """What else the machine does meanwhile does not count: the clock on the wall goes a hundred times as fast."""

    def spent() -> float:
        return files.latest_valid(tmp_path)[0].state["core_seconds"]

    monkeypatch.setattr(clock, "time", Clock(monotonic=100.0, process_time=1.0))
    first = trainer(max_core_minutes=1.0, log_every=1).prepare().train()
    assert first.reason == "max_core_minutes=1 is reached"
    assert 60 <= spent() < 75
    second = trainer(max_core_minutes=2.0, log_every=1).prepare(resume=True).train()
    assert 1.5 * first.updates < second.updates < 2.6 * first.updates
    assert 120 <= spent() < 140
    logged = [json.loads(line)["core_seconds"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert logged == sorted(logged)
    assert len(logged) == second.updates
    assert 115 < logged[-1] < 125


def test_whichever_limit_comes_first(trainer):
    assert trainer(max_updates=3, max_epochs=9, max_minutes=9.0).prepare().train().updates == 3


def test_after_patience(trainer):
    scores = [5.0, 4.0, 4.0, math.nan, 4.5, 1.0]
    report = trainer(scores, patience=3, max_updates=99, schedule=Choice("constant")).prepare().train()
    assert (report.updates, report.reason, report.score) == (5, "no better loss in 3 validations", 4.0)


def test_patience_begins_after_the_warmup(trainer):
    rising = Choice("constant", {"warmup": 4})
    report = trainer([5.0] * 9, patience=2, max_updates=99, schedule=rising).prepare().train()
    assert (report.updates, report.reason) == (5, "no better loss in 2 validations")  # the 4th and the 5th


@pytest.mark.parametrize(("last", "rising"), [(9.0, "still improving"), (8.0, ""), (7.0, ""), (9.0, "validated once")])
def test_a_score_that_only_stays_is_no_improvement(trainer, last, rising):
    """Of equal scores the one with the smaller loss is kept."""
    count = 1 if rising == "validated once" else 3
    made = trainer([0.0], max_updates=count, metric="f1")
    values = iter([(5.0, 3.0), (8.0, 2.0), (last, 1.0)][-count:])
    made.selection.validate = lambda _: dict(zip(("f1", "loss"), next(values), strict=True))
    made.selection.rankings.best.higher_is_better = True
    report = made.prepare().train()
    assert (report.score, report.rising) == (max(last, 8.0), rising)
    assert report.checkpoint == files.step_folder(made.run, count - (last < 8))


def test_below_a_learning_rate(trainer):
    plateau = Choice("plateau", {"patience": 1, "factor": 0.1, "stop": 0.1})
    report = trainer([5.0] * 9, patience=None, max_updates=99, learning_rate=1.0, schedule=plateau).prepare().train()
    assert (report.updates, report.reason) == (3, "the learning rate has fallen below 0.1")


def test_the_k_best_and_the_last_are_kept(trainer, tmp_path, kept):
    report = trainer([5.0, 1.0, 4.0, 2.0, 3.0, 9.0], keep_best=2, max_updates=6).prepare().train()
    assert kept() == [2, 4, 6]
    assert (report.checkpoint, report.score) == (files.step_folder(tmp_path, 2), 1.0)
    final = json.loads((tmp_path / "final.json").read_text())
    assert (final["checkpoint"], final["metric"], final["score"]) == ("step-00000002", "loss", 1.0)


def test_the_last_update_is_judged_though_no_validation_fell_on_it(trainer, tmp_path, lines):
    report = trainer([5.0, 4.0, 1.0], validate_every=3, max_updates=7).prepare().train()
    assert (report.updates, report.checkpoint, report.score) == (7, files.step_folder(tmp_path, 7), 1.0)
    evaluated = [(line["update"], line["best"]) for line in lines(tmp_path) if line["event"] == "validation"]
    assert evaluated == [(3, True), (6, True), (7, True)]


def test_a_run_shorter_than_its_first_validation_has_a_score(trainer):
    assert trainer([5.0], validate_every=100, max_updates=2).prepare().train().score == 5.0


def test_the_judgement_of_the_last_update_ends_no_patience_and_moves_no_schedule(trainer):
    plateau = Choice("plateau", {"patience": 1})
    made = trainer([5.0, 9.0], validate_every=3, max_updates=4, patience=1, schedule=plateau)
    report = made.prepare().train()
    assert (report.reason, report.score, made.updater.turns["model"].schedule.state()["scale"]) == (
        "max_updates=4 is reached",
        5.0,
        1.0,
    )
    assert (made.selection.rankings.best.waited, made.selection.rankings.best.updates) == (0, [3])


def test_more_updates_than_are_wanted_now_are_told(trainer):
    trainer(max_updates=5).prepare().train()
    report = trainer(max_updates=2).prepare(resume=True).train()
    assert (report.updates, report.reason) == (5, "max_updates=2 is less than the 5 updates that are done")


class Short:
    """Data in which there is no such place."""

    def stream(self, start, **settings):
        raise DataError("data", "epoch 0 has no batch 3")
        yield


def test_a_run_that_cannot_go_on_is_left_as_it_was(trainer, tmp_path):
    trainer([2.0, 3.0, 1.0], average=2, max_updates=2).prepare().train()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    refused = trainer([1.0], average=2, max_updates=3)
    refused.batches = Short()
    with pytest.raises(DataError, match="no batch"):
        refused.prepare(resume=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_preparing_alone_changes_nothing(trainer, tmp_path):
    trainer([2.0, 3.0, 1.0], average=2, max_updates=2).prepare().train()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write("a line of updates that were lost\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    trainer([1.0], average=2, max_updates=3).prepare(resume=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("every", [0.0, 10.0], ids=["while it is trained", "at the end"])
def test_a_run_folder_that_vanished_ends_it_and_does_not_come_again(trainer, tmp_path, every):
    run = tmp_path / "run"
    run.mkdir()
    made = trainer(max_updates=3, save_every_minutes=every)
    made.run, made.progress = run, Progress(run, quiet=True)
    with pytest.raises(CheckpointError, match=f"{run}: the run folder is gone"):
        made.prepare()
        shutil.rmtree(run)
        made.train()
    assert not run.exists()


def test_a_loss_that_is_no_number_ends_it_and_the_checkpoint_before_is_whole(trainer, tmp_path):
    with pytest.raises(TrainingError, match=r"loss is nan .* at update 6 "):
        trainer(objective=partial(Failing, at=6), save_every_minutes=0.0, max_updates=9).prepare().train()
    assert files.latest_valid(tmp_path)[0].state["update"] == 5
    assert trainer(max_updates=7).prepare(resume=True).train().updates == 7


def test_too_little_memory_for_a_validation_ends_it_and_the_checkpoint_before_is_whole(trainer, tmp_path):
    short = trainer([2.0], save_every_minutes=0.0, max_updates=9)
    judge = short.selection.validate

    def validate(interruption):
        return judge(interruption) if short.update < 2 else torch.empty(2**60)

    short.selection.validate = validate
    with pytest.raises(TrainingError, match=r"out of memory in the validation at update 2; .* decoding\.batch_tokens"):
        short.prepare().train()
    assert short.model.training
    assert files.latest_valid(tmp_path)[0].state["update"] == 1
    assert trainer([3.0, 1.0], max_updates=3).prepare(resume=True).train().updates == 3


def test_a_damaged_checkpoint_is_told_and_the_one_before_taken(trainer, tmp_path, capfd, kept):
    trainer([3.0, 2.0, 1.0, 4.0], keep_best=2, max_updates=4).prepare().train()
    assert kept() == [2, 3, 4]
    for update in (3, 4):
        (files.step_folder(tmp_path, update) / files.MODEL_FILE).write_bytes(b"")
    resumed = trainer([9.0], keep_best=2, max_updates=3)
    resumed.prepare(resume=True).train()
    assert capfd.readouterr().err.count("is damaged") == 2
    assert resumed.selection.rankings.best.updates == kept() == [2, 3]  # 1 was the second best, and is there no more


def test_a_damaged_best_checkpoint_is_told_and_the_next_best_is_named(trainer, tmp_path, capfd):
    trainer([3.0, 1.0, 2.0, 4.0], keep_best=2, max_updates=4).prepare().train()
    (files.step_folder(tmp_path, 2) / files.MODEL_FILE).write_bytes(b"")
    report = trainer([9.0], keep_best=2, max_updates=4).prepare(resume=True).train()
    assert capfd.readouterr().err.count("is damaged") == 1
    assert (report.checkpoint, report.score) == (files.step_folder(tmp_path, 3), 2.0)


def test_what_a_killed_run_was_writing_is_cleared(trainer, tmp_path):
    trainer(max_updates=1).prepare().train()
    (tmp_path / files.FOLDER / ".step-00000002.host.1.abc").mkdir()
    trainer(max_updates=2).prepare(resume=True).train()
    assert [path.name for path in (tmp_path / files.FOLDER).iterdir()] == ["step-00000002"]
