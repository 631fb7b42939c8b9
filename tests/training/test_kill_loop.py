"""A run that is killed at any moment and resumed ends with the weights of an unbroken one, bit for bit."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch
import two_turns
from kill_points import result_of

KILLS = 20  # of runs at work
TRIES = 3 * KILLS  # a kill may come too late: how long a run lasts hangs on what else the machine does
SETTINGS = [
    "data.dev_fraction=0.05",
    "text.tokenizer={name: subwords, size: 300, sampling: 0.1}",
    "model.dim=16",
    "model.encoder={name: transformer, num_layers: 1, feedforward_dim: 32}",
    "model.decoder={name: transformer, num_layers: 1, feedforward_dim: 32}",
    "model.attention.num_heads=2",
    "model.self_attention.num_heads=2",
    "training.max_updates=60",
    "training.batch_tokens=256",
    "training.validate_every=15",
    "training.save_every_minutes=0.002",
    "training.metric=loss",
    "training.keep_best=2",
    "training.average=2",
    "training.log_every=4",
    "training.precision=float32",
    "evaluation.metrics=[]",
    "device=cpu",
]
BEGINS = "learning subwords"  # what is said by a run that had saved nothing yet
WORDS = ("red", "blue", "old", "new", "house", "tree", "river", "stone", "sees", "holds", "under", "over")


class Command:
    """The command line, in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        draws = random.Random(3)
        sources = [" ".join(draws.choices(WORDS, k=draws.randint(3, 9))) for _ in range(400)]
        (folder / "text.a").write_text("".join(f"{line}\n" for line in sources))
        (folder / "text.b").write_text("".join(f"{line[::-1]}\n" for line in sources))

    def start(self, run, *, resume=False):
        files_of = [f"data.train.source={self.folder / 'text.a'}", f"data.train.target={self.folder / 'text.b'}"]
        words = ["--run", str(run), "--resume"] if resume else [*files_of, f"run={run}", *SETTINGS]
        return subprocess.Popen(
            [sys.executable, "-m", "regard", "train", *words],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, run, **how):
        process = self.start(run, **how)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
        return said

    def kill(self, run, seconds):
        """Some time after the settings were written; whether it was still at work."""
        process = self.start(run)
        while not (run / "experiment.yaml").exists() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), said
        return process.returncode != 0


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


@pytest.mark.slow
def test_killed_at_random_moments(command, tmp_path, lines):
    whole = tmp_path / "whole"
    command.finish(whole)
    settled = (whole / "experiment.yaml").stat().st_mtime
    lasted = (whole / "final.json").stat().st_mtime - settled
    wanted, folders = result_of(whole)
    draws, killed, early = random.Random(11), 0, 0
    for number in range(TRIES):
        if killed == KILLS:
            break
        run = tmp_path / f"killed-{number}"
        killed += command.kill(run, draws.uniform(0, lasted))
        said = command.finish(run, resume=True)
        early += BEGINS in said
        found, kept = result_of(run)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []
        assert (lines(run), kept) == (lines(whole), folders)
    print(f"{killed} killed at work within {lasted:.1f} s, {early} of them before the first checkpoint")
    assert killed == KILLS


@pytest.mark.slow
def test_killed_before_the_first_checkpoint(command, tmp_path):
    """Right after the settings were written, before there is a tokenizer."""
    command.finish(tmp_path / "whole")
    assert command.kill(tmp_path / "early", 0)
    assert BEGINS in command.finish(tmp_path / "early", resume=True)
    wanted, found = (result_of(tmp_path / name)[0] for name in ("whole", "early"))
    assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []


class Toy:
    """Two turns and two corpora, trained by a script."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, run):
        return subprocess.Popen([sys.executable, two_turns.__file__, str(self.folder / "corpora"), str(run)])

    def finish(self, run):
        assert self.start(run).wait(timeout=300) == 0

    def kill(self, run, seconds):
        """Some time after its folder was made; whether it was still at work."""
        process = self.start(run)
        while not run.exists() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait(timeout=60) != 0


@pytest.mark.slow
def test_two_turns_and_two_corpora_killed_at_random_moments(tmp_path, lines):
    toy, whole = Toy(tmp_path), tmp_path / "whole"
    toy.finish(whole)
    began = min(path.stat().st_mtime for path in (tmp_path / "corpora").iterdir())
    lasted = (whole / "final.json").stat().st_mtime - began
    wanted, folders = result_of(whole)
    assert {name.partition(".")[0] for part, name in wanted if part == "optimizers"} == {"critic", "model"}
    draws, killed = random.Random(12), 0
    for number in range(TRIES):
        if killed == KILLS:
            break
        run = tmp_path / f"killed-{number}"
        killed += toy.kill(run, draws.uniform(0, lasted))
        toy.finish(run)
        found, kept = result_of(run)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []
        assert (lines(run), kept) == (lines(whole), folders)
    print(f"{killed} killed at work within {lasted:.1f} s")
    assert killed == KILLS
