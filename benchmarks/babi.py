"""Errors on the 20 tasks of bAbI: a row a task in a table, which a second start continues.

    REGARD_DATA=PATH python benchmarks/babi.py [CONFIG] [--tasks 1 2 3] [--seeds 1 2] [--table FILE] [KEY=VALUE ...]

A network of its own for each task and seed, trained with 10,000 questions (task 3 with 1,000: more are not at hand).
Of several seeds the one with the least loss on the tenth of the questions that is held out is told, as in the paper
(https://arxiv.org/abs/1503.08895), whose mean error is 6.6 %.
"""

import argparse
import csv
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

from regard.experiment import read_experiment
from regard.reports import evaluate
from regard.runs import train_run

CONFIG = Path(__file__).parents[1] / "configs" / "reading" / "babi-memory-network.yaml"
TABLE = Path("runs") / "babi.tsv"
SMALL = {3: "babi/en.tar.gz"}  # tasks of which 1,000 questions are at hand
FAILED = 5  # % from which a task counts as failed
PUBLISHED = 6.6  # % mean error of MemN2N over the 20 tasks with 10,000 questions each, the best of ten starts


class Row(NamedTuple):
    """One network."""

    task: int
    seed: int
    error: float  # % of the test questions
    dev_loss: float  # nats a question, of those held out
    minutes: float


def read_rows(path: Path) -> list[Row]:
    """Return what is in a table so far; nothing where there is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(int(task), int(seed), float(error), float(loss), float(minutes))
            for task, seed, error, loss, minutes in list(csv.reader(file, delimiter="\t"))[1:]
        ]


def add_row(path: Path, row: Row) -> None:
    """Write a row behind those of a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begins = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        if begins:
            writer.writerow(Row._fields)
        writer.writerow(row)


def best_rows(rows: list[Row]) -> dict[int, Row]:
    """Return of each task the row with the least loss on the held-out questions."""
    best: dict[int, Row] = {}
    for row in sorted(rows):
        if row.task not in best or row.dev_loss < best[row.task].dev_loss:
            best[row.task] = row
    return best


def summary(rows: list[Row]) -> str:
    """Return a table of the best rows, and means over the tasks that are done."""
    best = best_rows(rows)
    lines = ["task   error  seeds  minutes"]
    for task, row in sorted(best.items()):
        done = [one for one in rows if one.task == task]
        lines.append(f"{task:4d} {row.error:6.1f}% {len(done):6d} {sum(one.minutes for one in done):8.1f}")
    if best:
        mean = sum(row.error for row in best.values()) / len(best)
        failed = sum(row.error > FAILED for row in best.values())
        lines.append(
            f"mean {mean:6.1f}% of {len(best)} tasks, {failed} with more than {FAILED} % (paper: {PUBLISHED} %)"
        )
    return "\n".join(lines)


def train_task(config: Path, task: int, seed: int, changes: list[str], folder: Path) -> Row:
    """Train a network in a folder and return its figures."""
    run, began = folder / f"{task}-{seed}", time.monotonic()
    parts = [f"data.{part}.{name}" for part in ("train", "test") for name in (f"task={task}", *_small(task))]
    experiment = read_experiment(
        config, [*parts, f"training.seed={seed}", "training.metric=loss", *changes, f"run={run}"]
    )
    if not train_run(experiment, resume=run.exists(), quiet=True):
        raise SystemExit("benchmark: training was interrupted; start again to continue with this task")
    error = 100 - evaluate([run]).systems[0].scores[0].value  # accuracy, or of readers the exact match
    loss = json.loads((run / "final.json").read_text(encoding="utf-8"))["score"]
    return Row(task, seed, round(error, 2), round(loss, 5), round((time.monotonic() - began) / 60, 2))


def _small(task: int) -> list[str]:
    return [f"file={SMALL[task]}"] if task in SMALL else []


def main() -> None:
    """Train what is missing in the table and print all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", type=Path, default=CONFIG)
    parser.add_argument("--tasks", nargs="+", type=int, choices=range(1, 21), default=[*range(1, 21)], metavar="N")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument("--table", type=Path, default=TABLE, help=f"file of the rows (default {TABLE})")
    parser.add_argument(
        "--runs", type=Path, metavar="FOLDER", help="keep the networks there; one that was cut off goes on"
    )
    changes = [word for word in sys.argv[1:] if "=" in word and not word.startswith("-")]
    chosen = parser.parse_args([word for word in sys.argv[1:] if word not in changes])
    torch.set_num_threads(1)
    done = {(row.task, row.seed) for row in read_rows(chosen.table)}
    for seed in chosen.seeds:
        for task in chosen.tasks:
            if (task, seed) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                row = train_task(chosen.config, task, seed, changes, chosen.runs or Path(folder))
            add_row(chosen.table, row)
            print(f"task {task}, seed {seed}: {row.error:.1f} % wrong after {row.minutes:.1f} minutes", flush=True)
    print(summary(read_rows(chosen.table)))


if __name__ == "__main__":
    main()
