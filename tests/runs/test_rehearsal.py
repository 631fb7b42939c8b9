"""Plans of memory and time: near what a training takes, and a line where it would take too much."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from small_configs import small
from typer.testing import CliRunner

from regard.cli.app import app
from regard.data.columns.numbers import NumbersColumn
from regard.errors import ConfigError
from regard.experiment import read_experiment
from regard.ops import memory
from regard.ops.modules import skip_init
from regard.runs import rehearsal as plans
from regard.runs.rehearsal import Rehearsal, bytes_of_a_weight
from regard.runs.run import model_of

ADDING = {"given": NumbersColumn(2, 30, bits=False), "wanted": NumbersColumn(1, 1, bits=False)}
COPYING = dict.fromkeys(("given", "wanted"), NumbersColumn(3, 9))
_MADE = "pseudo.tsv"  # by `regard adequacy`
CONFIGS = [path for path in sorted(Path("configs").rglob("*.yaml")) if _MADE not in path.read_text("utf-8")]
CONFIGS = CONFIGS[::6]  # all take half a minute


@pytest.fixture
def texts(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} word {number % 7}\n" for number in range(200)))
    return [f"data.train.source={tmp_path}/a.txt", f"data.train.target={tmp_path}/b.txt", f"run={tmp_path}/run"]


@pytest.mark.filterwarnings("ignore:model.decoder.dilations")  # of networks for longer texts than these
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_weights_are_counted_without_room_for_them(path, tmp_path):
    changes = small(path, tmp_path)  # but for the network, which keeps its size
    experiment = read_experiment(path, [one for one in changes if not one.startswith("model.")])
    rehearsal = Rehearsal(experiment)
    with skip_init():
        built = sum(one.numel() for one in model_of(experiment, rehearsal.sample.columns).parameters())
    assert rehearsal.parameters == built


@pytest.mark.parametrize(("optimizer", "numbers"), [("sgd", 2), ("adam", 4), ("{name: sgd, momentum: 0.9}", 3)])
def test_bytes_of_a_weight(texts, optimizer, numbers):
    experiment = read_experiment(None, [*texts, f"training.optimizer={optimizer}"])
    assert bytes_of_a_weight(experiment) == pytest.approx(4 * numbers, rel=0.01)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("model.dim=1048576", "model:"),
        ("training.accumulate=1000000000", "training.accumulate:"),
        ("training.batch_tokens=10000000000000", "training.workers:"),
        ("training.workers=100000", "training.workers:"),
        ("model.encoder.num_layers=1000000000", "model.encoder.num_layers:"),
        ("text.tokenizer.size=2000000000", "text.tokenizer.size:"),
    ],
)
def test_too_much_is_one_line_before_memory_fills(texts, change, place):
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    done = CliRunner().invoke(app, ["train", *texts, change])
    assert done.exit_code == 2
    [line] = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert place in line
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # in KB
    assert time.thread_time() - start < 5
    assert not Path(texts[2].removeprefix("run=")).exists()


def test_the_plan_of_a_batch_is_near_what_it_takes(texts):
    """Counted by torch, of a batch four times as large as the one that is tried."""
    from regard.reports.bench.bench import peak_bytes

    sizes = ["model.dim=64", "model.encoder={name: transformer, num_layers: 2}", "model.decoder={name: transformer}"]
    experiment = read_experiment(None, [*texts, *sizes, "text.tokenizer.size=500", "training.batch_tokens=1024"])
    plan = Rehearsal(experiment).plan()
    columns = Rehearsal(experiment).sample.columns
    model, task = model_of(experiment, columns).train(), plans.task_of(experiment, columns)
    objective = plans.objective_of(experiment, model, task).train()
    values = {name: ["a" * 15] * 64 for name in ("source", "target")}
    batch, *_ = task.held(values, tokens=10**6)

    def update():
        objective.loss(batch, "model").sum.backward()

    taken = peak_bytes(update, torch.device("cpu"))
    assert plan.batch == pytest.approx(taken, rel=0.7)


def test_batches_too_large_for_memory_are_halved_from_the_start(texts, monkeypatch):
    monkeypatch.setattr(plans, "SMALL", 0)
    experiment = read_experiment(None, [*texts, "training.max_updates=2", "model.dim=16", "training.batch_tokens=256"])
    plan = Rehearsal(experiment).plan()
    monkeypatch.setattr(plans, "free_bytes", lambda device: plan.weights + plan.waiting + plan.batch / 3)
    assert Rehearsal(experiment).halvings(torch.device("cpu")) == 2
    changes = ["training.max_updates=2", "model.dim=16", "training.batch_tokens=256"]
    done = CliRunner().invoke(app, ["train", *texts, *changes])
    assert done.exit_code == 0, done.stderr
    assert "from update 1 on each is learnt from in 4 pieces" in " ".join(done.stderr.split())


def test_the_plan_is_told_and_nothing_written(texts, tmp_path):
    done = CliRunner().invoke(app, ["train", *texts, "--plan", "training.max_minutes=3", "model.dim=32"])
    assert done.exit_code == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "model", "weights", "a", "waiting", "memory", "speed",
    ]  # fmt: skip
    assert "max_minutes=3 is about" in done.stdout
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("reader", "model", "rows", "columns"),
    [
        ("{name: adding, length: 30}", "{name: sequence_regressor, dim: 8}", 30, ADDING),
        ("{name: copying, length: 9, min_length: 9, width: 3}", "{name: neural_turing_machine, dim: 8}", 9, COPYING),
    ],
)
def test_rows_of_numbers_tell_their_count_and_width(reader, model, rows, columns, tmp_path):
    """Waiting: ids of 8 bytes and a mask of one, for each row of both columns."""
    batches = ["training.batch_sentences=7", "training.batch_tokens=null", "training.workers=0"]
    settings = ["task=algorithmic", f"model={model}", f"data.train={reader}", f"run={tmp_path}/run", *batches]
    experiment = read_experiment(None, settings)
    plan = Rehearsal(experiment).plan()
    assert plan.waiting == 7 * rows * 2 * 9
    trained = model_of(experiment, columns)
    assert plan.parameters == sum(one.numel() for one in trained.parameters())


def test_a_row_of_another_width_is_told_with_its_file(tmp_path):
    (tmp_path / "a.tsv").write_text("0 1; 1 0\t1\n0 1 1\t0\n")
    done = CliRunner().invoke(app, ["train", "task=algorithmic", f"data.train={tmp_path}/a.tsv", f"run={tmp_path}/run"])
    assert (done.exit_code, f"{tmp_path}/a.tsv:2: column numbers: rows of 3 numbers" in done.stderr) == (2, True)


def test_free_memory_obeys_the_limit_of_the_process():
    code = "import torch; from regard.ops.memory import free_bytes; print(free_bytes(torch.device('cpu')))"
    limit = 4_000_000_000
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 < float(done.stdout) < limit
    assert memory.free_bytes(torch.device("cpu")) > 0


def test_a_model_too_large_for_what_is_free(texts, monkeypatch):
    monkeypatch.setattr(plans, "free_bytes", lambda device: 1e6)
    monkeypatch.setattr(plans, "FEW_WEIGHTS", 0)
    with pytest.raises(ConfigError, match=r"weights need about .*smaller dims"):
        Rehearsal(read_experiment(None, [*texts, "training.workers=0", "training.batch_tokens=100"])).check_memory()


def test_too_little_memory_in_a_rehearsal_is_told_as_such(texts, monkeypatch):
    def huge(*_):
        torch.empty(2**60, dtype=torch.uint8)

    monkeypatch.setattr("regard.runs.rehearsal.task_of", huge)
    done = CliRunner().invoke(app, ["train", *texts])
    assert (done.exit_code, "out of memory" in done.stderr) == (2, True)
