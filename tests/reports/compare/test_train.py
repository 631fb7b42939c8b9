"""Trainings, one or several at once, each in a process of its own: how they end, and that none is left behind."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment import Experiment
from regard.reports.compare import train as compare_train
from regard.reports.compare import worker as compare_worker
from regard.reports.compare.plan import Contender, PlannedRun
from regard.reports.compare.progress import Watch
from regard.reports.compare.train import condition_notes, conditions_of, environment_of, train_all
from regard.training.interrupt import Interrupted

SETTINGS = read_settings(Experiment, {})
STANDIN = """
import json, os, pathlib, signal, sys, time
job = json.loads(sys.stdin.readline())
run = pathlib.Path(job["experiment"]["run"])
kind = run.name.partition("-")[0]
if kind == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
run.with_suffix(".begun").write_text(f"{job['threads']} {job['resume']} {os.environ['OMP_NUM_THREADS']}")
if kind == "wrong":
    print("some noise\\nerror: model.dim: is wrong\\nerror: run: is wrong, too\\nwarning: careful", file=sys.stderr)
    sys.exit(2)
if kind == "breaks":
    print("warning: careful", file=sys.stderr)
    raise ValueError("no\\nmore memory")
if kind == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if kind == "deaf":
    time.sleep(60)
if kind in ("waits", "early", "full", "dies"):
    sys.stdin.read()  # to its end
    if kind == "full":
        print("error: run/checkpoints: No space left on device", file=sys.stderr)
        sys.exit(2)
    if kind == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "waits":
        (run / "checkpoints/step-00000001").mkdir(parents=True)
    run.with_suffix(".saved").touch()
    sys.exit(75)
run.with_suffix(".done").touch()
"""


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker that trains nothing, and ends as the name of its run says."""
    script = tmp_path / "standin.py"
    script.write_text(STANDIN)
    monkeypatch.setattr(compare_train, "WORKER", (sys.executable, "-S", str(script)))
    return tmp_path


def planned(folder: Path, *names: str) -> list[PlannedRun]:
    return [PlannedRun(Contender(name, Path("x.yaml"), (), SETTINGS), 1, folder / name) for name in names]


def train(folder: Path, *names: str, jobs: int = 2) -> dict[str, str]:
    runs = planned(folder, *names)
    stages = {name: "finished" if name.startswith("finished") else "begun" for name in names}
    return train_all(runs, stages, jobs, Watch(runs, jobs))


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_are_trained_with_their_share_of_the_threads(standin, capfd, jobs):
    assert train(standin, "a", "finished", "b", "c", jobs=jobs) == {}
    assert sorted(path.stem for path in standin.glob("*.done")) == ["a", "b", "c"]
    threads = max(1, torch.get_num_threads() // jobs)
    assert (standin / "a.begun").read_text() == f"{threads} True {threads}"
    said = capfd.readouterr().err
    assert [f"run {number} of 4, " in said for number in (1, 2, 3)] == [True] * 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_those_that_fail_do_not_stop_the_others(standin, capfd, jobs):
    failed = train(standin, "wrong-1", "breaks-1", "killed-1", "a", jobs=jobs)
    assert failed == {
        "wrong-1": "model.dim: is wrong\nrun: is wrong, too",
        "breaks-1": f"ValueError: no (see {standin / 'logs/breaks-1.log'})",
        "killed-1": f"{standin / 'killed-1'}: was ended by signal 9",
    }
    assert (standin / "a.done").exists()
    assert "warning: wrong-1: careful" in capfd.readouterr().err


def test_the_log_of_a_failure_holds_all_of_it_until_it_is_over(standin):
    train(standin, "breaks-1")
    log = standin / "logs/breaks-1.log"
    lines = log.read_text().splitlines()
    assert lines[:2] == ["warning: careful", "Traceback (most recent call last):"]
    assert lines[-2:] == ["ValueError: no", "more memory"]
    log.rename(standin / "logs/a.log")
    train(standin, "a")
    assert not (standin / "logs/a.log").exists()


def test_threads_and_jobs_are_told_of_the_trainings_and_not_of_the_last_call(standin, monkeypatch):
    """Each run tells those of every call that trained it since it was begun."""
    runs = planned(standin, "a", "b")
    for run in runs:
        run.path.mkdir()
        (run.path / "environment.json").write_text('{"torch": "2.11", "threads": 1}')
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    train_all(runs, {"a": "new", "b": "new"}, 4, Watch(runs, 1))
    train_all(runs, {"a": "finished", "b": "begun"}, 2, Watch(runs, 1))
    assert conditions_of(standin) == {"a": [(4, 2)], "b": [(4, 2), (2, 4)]}
    assert environment_of(runs) == {"torch": "2.11", "threads": "1 to 4"}
    assert condition_notes(runs, 1) == [
        "2 to 4 trainings ran at once: their wall times are of a shared machine.",
        "The runs answered the test set one after another, with 8 threads.",
    ]
    train_all(runs, {"a": "new", "b": "new"}, 1, Watch(runs, 1))
    assert conditions_of(standin) == {"a": [(1, 8)], "b": [(1, 8)]}


def test_of_runs_that_noted_nothing_the_call_is_told(tmp_path):
    runs = planned(tmp_path, "a")
    assert condition_notes(runs, 1) == []
    assert [note.partition(" ")[0] for note in condition_notes(runs, 3)] == ["3"]
    (tmp_path / "trainings.jsonl").write_text('{"run": "a", "jobs": 2, "threads": 1, "resumed": false}\n{"run": "a')
    assert [note.partition(" ")[0] for note in condition_notes(runs, 3)][:1] == ["2"]
    assert environment_of(runs)["torch"] == torch.__version__


@pytest.fixture
def interrupted(standin, monkeypatch):
    """Trainings that a signal comes to when so many of them have begun; what it raises."""

    def run(*names: str, jobs: int = 2, number: int = signal.SIGINT) -> str:
        drawn = []

        def draw(watch):
            drawn.append(1)
            if len(list(standin.glob("*.begun"))) == jobs and len(drawn) > 2:
                monkeypatch.setattr(Watch, "draw", lambda watch: None)
                os.kill(os.getpid(), number)

        monkeypatch.setattr(Watch, "draw", draw)
        with pytest.raises(Interrupted) as told:
            train(standin, *names, jobs=jobs)
        return str(told.value)

    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("jobs", [1, 2])
def test_asked_to_end_all_save_and_no_more_begin(standin, interrupted, number, jobs):
    names = [f"waits-{number}" for number in range(jobs)]
    assert interrupted(*names, "a", jobs=jobs, number=number) == "what was being trained is saved"
    assert sorted(path.stem for path in standin.glob("*.saved")) == names
    assert not (standin / "a.begun").exists()


def test_only_what_is_saved_is_called_so(interrupted, capfd, tmp_path):
    told = interrupted("waits-1", "full-1", "dies-1", "early-1", jobs=4)
    first, *others = told.split(", but not ")
    assert first == "what was being trained is saved"
    assert sorted(others) == [
        f"dies-1: {tmp_path / 'dies-1'}: was ended by signal 9",
        "full-1: run/checkpoints: No space left on device",
    ]
    said = capfd.readouterr().err
    assert "waits-1: saved\n" in said
    assert "early-1: ended before there was anything to save\n" in said
    assert "full-1: failed: run/checkpoints: No space left on device\n" in said


def test_whatever_goes_wrong_no_process_is_left(standin, monkeypatch):
    """Those that do not end at once are killed."""
    monkeypatch.setattr(compare_train, "KILL_AFTER", 0.1)
    started = []

    def draw(watch):
        if len(list(standin.glob("*.begun"))) == 2:
            raise OSError("no terminal")

    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **how: started.append(real(*words, **how)) or started[-1])
    monkeypatch.setattr(Watch, "draw", draw)
    with pytest.raises(OSError, match="no terminal"):
        train(standin, "deaf-1", "deaf-2")
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


@pytest.fixture
def worker(monkeypatch):
    """The worker's own function in this process, with a training put in its place."""
    monkeypatch.setattr(compare_worker, "_end_with_stdin", lambda parent: None)
    before, threads = signal.getsignal(signal.SIGINT), torch.get_num_threads()
    (one,) = planned(Path("somewhere"), "a-seed1")
    job = compare_train.job_of(one.experiment(), resume=True, threads=1)

    def run(train) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(job) + "\n"))
        monkeypatch.setattr(compare_worker, "train_run", train)
        return compare_worker.main()

    yield run
    signal.signal(signal.SIGINT, before)
    torch.set_num_threads(threads)


def raising(error):
    def train(*_, **__):
        raise error

    return train


def test_the_exit_codes_of_a_worker(worker, capsys):
    seen = []
    assert worker(lambda *given, **settings: seen.append((given, settings)) or True) == 0
    (wanted,) = planned(Path("somewhere"), "a-seed1")
    assert seen == [((wanted.experiment(),), {"resume": True, "quiet": True})]
    assert worker(lambda *_, **__: False) == 75
    assert worker(raising(KeyboardInterrupt())) == 75
    assert worker(raising(ConfigError("a", "b"))) == 2
    assert worker(raising(OSError(28, "No space left on device", "file"))) == 2
    assert capsys.readouterr().err == "error: a: b\nerror: file: No space left on device\n"


DEAF = """
import signal, time
from regard.reports.compare import worker

def train(*_, **__):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("at work", flush=True)
    time.sleep(120)

worker.train_run, worker.KILL_AFTER = train, 0.5
worker.main()
"""
PARENT = """
import json, subprocess, sys, time
from pathlib import Path
from regard.experiment import Experiment
from regard.config import read_settings
from regard.reports.compare.plan import Contender, PlannedRun
from regard.reports.compare.train import job_of

run = PlannedRun(Contender("a", Path("x.yaml"), (), read_settings(Experiment, {})), 1, Path("run"))
child = subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE)
child.stdin.write(json.dumps(job_of(run.experiment(), resume=False, threads=1)).encode() + b"\\n")
child.stdin.flush()
time.sleep(120)
"""


def test_a_training_that_hears_nothing_ends_when_its_comparison_is_killed(tmp_path):
    (tmp_path / "deaf.py").write_text(DEAF)
    words = [sys.executable, "-c", PARENT, str(tmp_path / "deaf.py")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "at work\n"
        parent.kill()
        begun = time.monotonic()
        assert parent.stdout.read() == ""  # to the end: the child has closed it, too
        assert time.monotonic() - begun < 30
