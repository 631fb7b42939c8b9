"""A training killed anywhere, before any change of a file, goes on or begins anew, and ends with the same weights."""

import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from kill_points import Job, at_once, changes_of, finished, killed, killed_after, opens, points_of, result_of

SETTINGS = (
    "data.dev_fraction=0.1",
    "text.tokenizer={name: subwords, size: 300, sampling: 0.1}",
    "model.dim=8",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 8}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 8}",
    "model.attention.num_heads=2",
    "model.self_attention.num_heads=2",
    "training.batch_tokens=256",
    "training.validate_every=2",
    "training.metric=loss",
    "training.keep_best=2",
    "training.average=2",
    "training.log_every=1",
    "training.precision=float32",
    "evaluation.metrics=[]",
    "device=cpu",
)
ENDS = "training.max_updates=6"
WORDS = ("red", "blue", "old", "new", "house", "tree", "river", "stone", "sees", "holds", "under", "over")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Settings that name two texts."""
    folder, draws = tmp_path_factory.mktemp("texts"), random.Random(3)
    lines = [" ".join(draws.choices(WORDS, k=draws.randint(3, 9))) for _ in range(60)]
    (folder / "text.a").write_text("".join(f"{line}\n" for line in lines))
    (folder / "text.b").write_text("".join(f"{line[::-1]}\n" for line in lines))
    return (f"data.train.source={folder / 'text.a'}", f"data.train.target={folder / 'text.b'}")


class Scenario:
    """A call of `regard train` that is killed and repeated."""

    def __init__(self, folder, texts, kind):
        self.folder, self.texts, self.kind, self.before = folder, texts, kind, None
        if kind in ("changed", "continued"):
            self.before = folder / "before"
            finished(Job(self.before, (*texts, *SETTINGS, "training.max_updates=4")))

    def job(self, name):
        run = self.folder / name
        if self.kind == "changed":  # the run goes on with other settings
            shutil.copytree(self.before, run)
            return Job(run, (ENDS,)), True
        if self.kind == "continued":  # another run begins where that one ended
            words = [one for one in SETTINGS if one.startswith(("training", "data", "device"))]
            return Job(run, (*self.texts, *words, ENDS), start=self.before), False
        return Job(run, (*self.texts, *SETTINGS, ENDS), ranks=2 if self.kind == "processes" else 1), False


def check(job, wanted):
    """What was killed opens where it had opened before, and ends as the unbroken run."""
    opens(job.run)
    finished(job)
    found, kept = result_of(job.run)
    tensors, folders = wanted
    assert found.keys() == tensors.keys()
    assert [name for name in tensors if not torch.equal(found[name], tensors[name])] == []
    assert kept == folders
    assert [path.name for path in job.run.rglob(".*") if path.name != ".lock"] == []
    shutil.rmtree(job.run)


def survived(scenario, *, every, times, seconds):
    """Kills at points, and at so many random times; of both, how often it was at work still."""
    job, resume = scenario.job("whole")
    changes = changes_of(job, resume=resume)
    wanted = result_of(job.run)

    def at(number, kill, where):
        job, resume = scenario.job(f"run-{number}")
        done = kill(job, where, resume=resume)
        check(job, wanted)
        return done

    points, draws = points_of(changes, every=every), random.Random(11)
    kills = [(killed, point) for point in points]
    kills += [(killed_after, draws.uniform(0, seconds)) for _ in range(times)]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(at, range(len(kills)), *zip(*kills, strict=True)))
    done_at_points, done_at_times = sum(done[: len(points)]), sum(done[len(points) :])
    print(f"{scenario.kind}: {len(changes)} changes of files")
    print(f"killed at work: {done_at_points} of {len(points)} points, {done_at_times} of {times} times; all went on")
    return done_at_points, len(points)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "every", "times", "seconds"),
    [("new", True, 80, 2.0), ("changed", True, 40, 1.0), ("continued", False, 40, 1.5), ("processes", False, 40, 3.0)],
)
def test_killed_before_any_change_of_a_file(tmp_path, texts, kind, every, times, seconds):
    done, points = survived(Scenario(tmp_path, texts, kind), every=every, times=times, seconds=seconds)
    assert done == points


@pytest.mark.slow
def test_of_two_that_begin_at_once_one_trains_and_the_other_harms_nothing(tmp_path, texts):
    scenario, draws, first = Scenario(tmp_path, texts, "new"), random.Random(5), 0
    finished(scenario.job("whole")[0])
    wanted = result_of(tmp_path / "whole")
    for number in range(40):
        job, _ = scenario.job(f"run-{number}")
        codes = at_once(job, draws.uniform(-0.005, 0.005))
        assert sorted(codes) == [0, 1], codes
        first += codes == [0, 1]
        log = job.run.with_suffix(".log0").read_text()
        assert "is being trained by another process" in log or "exists and is not empty" in log
        check(job, wanted)
    print(f"the first of two won {first} times of 40")
