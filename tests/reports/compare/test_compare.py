"""The whole command in a process of its own: interrupted or killed it goes on, and several at once find the same."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.training import checkpoint as files


class Command:
    """regard compare in a process of its own, over texts large enough to train on for a while."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = [f"the {number} th of {number % 7} words" for number in range(400)]
        (folder / "a.en").write_text("".join(f"{line}\n" for line in lines))
        (folder / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))
        parts = ", ".join(f"{part}: {{source: a.en, target: a.de}}" for part in ("train", "dev", "test"))
        (folder / "a.yaml").write_text(
            f"data: {{{parts}}}\n"
            "model: {dim: 16, encoder: {name: transformer, num_layers: 1, feedforward_dim: 16},\n"
            "        decoder: {name: transformer, num_layers: 1, feedforward_dim: 16}}\n"
            "text: {tokenizer: {name: subwords, size: 300}}\n"
            "training: {max_updates: 30, validate_every: 10, log_every: 5, average: 1, validate_lines: 20}\n"
            "evaluation: {metrics: bleu}\n"
        )

    def start(self, *words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "regard", "compare", "a.yaml", "--seeds", "2", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_for(self, pattern: str, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while not list(self.folder.glob(pattern)):
            assert time.monotonic() < until
            time.sleep(0.05)

    def finish(self, jobs: int, runs: list[Path]) -> None:
        """The same command with a limit that is five updates away."""
        goal = max(map(done, runs)) + 5
        with self.start("-j", str(jobs), "--updates", str(goal)) as work:
            assert work.wait(300) == 0, work.stderr.read()
        assert list(map(done, runs)) == [goal, goal]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return files.latest_valid(run, training=False)[0].model


@pytest.mark.slow
def test_several_at_once_find_the_same_as_one_after_another(tmp_path):
    command = Command(tmp_path)
    for words in (["-j", "2", "--run", "two"], ["--run", "one"]):
        with command.start("training.max_updates=8", *words) as work:
            assert work.wait(300) == 0, work.stderr.read()
    for seed in (1, 2):
        one, two = (weights(tmp_path / folder / f"a-seed{seed}") for folder in ("one", "two"))
        assert all(torch.equal(one[name], two[name]) for name in one)


def done(run: Path) -> int:
    """Updates that a run has saved."""
    return files.latest_valid(run)[0].state["update"] if files.steps(run) else 0


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_in_a_terminal_saves_and_the_same_command_goes_on(tmp_path, jobs):
    command, runs = Command(tmp_path), [tmp_path / f"runs/compare-a/a-seed{seed}" for seed in (1, 2)]
    with command.start("-j", str(jobs), "--updates", "100000") as work:
        command.wait_for("runs/compare-a/a-seed1/checkpoints/step-*")
        os.killpg(work.pid, signal.SIGINT)  # as a terminal does: to all of the group
        assert work.wait(60) == 75, work.stderr.read()
        assert work.stderr.read().splitlines()[-1].endswith("go on with the same command")
    command.finish(jobs, runs)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_it_leaves_nobody_behind_and_goes_on(tmp_path, jobs):
    command, runs = Command(tmp_path), [tmp_path / f"runs/compare-a/a-seed{seed}" for seed in (1, 2)]
    with command.start("-j", str(jobs), "--updates", "100000") as work:
        command.wait_for("runs/compare-a/a-seed1/checkpoints/step-*")
        work.kill()
    for run in filter(Path.exists, runs):
        with (run / ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # that of a run dies with the process that trains it
    command.finish(jobs, runs)
