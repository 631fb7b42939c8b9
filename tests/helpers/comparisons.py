"""The command `compare` over a few sentences, with its trainings in this process."""

import io
import json
import os
import signal
import traceback
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

import torch
from small_runs import PAIRS
from typer.testing import CliRunner

from regard.cli.app import app
from regard.reports.compare import worker
from regard.reports.compare.train import INTERRUPTED_CODE, job_of

CONFIG = """
data: {train: {source: a.en, target: a.de}, dev: {source: a.en, target: a.de}, test: {source: a.en, target: a.de}}
model:
  dim: 16
  position: null
  encoder: {name: recurrent, cell: gru, hidden_dim: 8}
  decoder: {name: recurrent, cell: gru, hidden_dim: 16}
  attention: dot
text: {tokenizer: {name: words}}
training: {max_updates: 2, validate_every: 1, log_every: 1, average: 1}
evaluation: {metrics: [bleu, chrf]}
decoding: {search: greedy}
"""
GOLD = ["1-1 2-2 3p3", "1-1 2-2", "1-1 2-2", "1-1"] * 3


class Said(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def values(self) -> dict[str, Any]:
        assert self.out, self.err
        return json.loads(self.out)


def compare(*words: object) -> Said:
    done = CliRunner().invoke(app, ["compare", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def table_of(said: Said) -> list[list[str]]:
    """The cells of the first table: its head, then row by row."""
    lines = [line for line in said.out.partition("\n- ")[0].splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines if "---" not in line]


def texts(folder: Path) -> Path:
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    (folder / "gold").write_text("".join(f"{line}\n" for line in GOLD))
    (folder / "dot.yaml").write_text(CONFIG)
    (folder / "wide.yaml").write_text(CONFIG.replace("dim: 16\n  position", "dim: 24\n  position"))
    return folder


class Inside:
    """A worker in this very process: quick, and something else can be put in the place of training. What it is told
    and what it tells goes the way of a process of its own, for which there are tests, too.
    """

    def __init__(self, experiment, *, resume: bool, threads: int) -> None:
        job = json.loads(json.dumps(job_of(experiment, resume=resume, threads=threads)))
        with redirect_stderr(io.StringIO()) as told:
            try:
                self.code = worker.train_job({**job, "threads": torch.get_num_threads()})
            except Exception:
                traceback.print_exc()
                self.code = 1
        self.lines = told.getvalue().splitlines()
        if self.code == INTERRUPTED_CODE:
            os.kill(os.getpid(), signal.SIGINT)  # on a terminal the comparison hears of it first

    def ask_to_end(self) -> None:
        """It has ended."""

    def end(self) -> None:
        """It has ended."""

    def messages(self) -> list[str]:
        return self.lines


def instead(monkeypatch, train) -> None:
    """`train` in place of a training; it is given the real one, too."""
    real = worker.train_run
    monkeypatch.setattr(worker, "train_run", lambda *given, **settings: train(*given, real=real, **settings))
