"""Several processes that train one model: what they agree on, the losses of one process, exact resume, clean ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.training import checkpoint as files
from regard.training import world
from regard.training.world import LOST, World

SETTINGS = [
    "data.dev_fraction=0.05",
    "text.tokenizer={name: subwords, size: 300}",
    "model.dim=16",
    "training.batch_tokens=128",
    "training.validate_every=8",
    "training.metric=loss",
    "training.keep_best=2",
    "training.average=2",
    "training.log_every=1",
    "training.precision=float32",
    "evaluation.metrics=[]",
    "device=cpu",
]
LAYERS = "num_layers: 1, feedforward_dim: 32"
ARCHITECTURES = {
    "transformer": [f"model.encoder={{name: transformer, {LAYERS}}}", f"model.decoder={{name: transformer, {LAYERS}}}"],
    "recurrent": ["model.encoder={name: recurrent, num_layers: 1}", "model.decoder={name: recurrent, num_layers: 1}"],
    "convolutional": [
        "model.encoder={name: convolutional, num_layers: 2}",
        "model.decoder={name: convolutional, num_layers: 2}",
    ],
}
HEADS = ["model.attention.num_heads=2", "model.self_attention.num_heads=2"]
MEETING = """
import json, sys
import torch
from regard.training.world import joined_world

with joined_world(torch.device("cpu")) as world:
    one, two = torch.full((3,), world.rank + 1.0), torch.full((2, 2), world.rank, dtype=torch.float64)
    world.sum([one, two])
    own = torch.full((2,), float(world.rank))
    world.spread([own])
    order = []
    world.in_order(lambda: order.append(world.rank))
    found = {
        "sums": [one.tolist(), two.tolist()], "spread": own.tolist(), "order": order,
        "gather": world.gather({"rank": world.rank}), "agree": world.agree(world.rank + 7),
        "first": world.by_first(lambda: world.rank + 3),
    }
    print(json.dumps(found))

    def fail():
        if world.first:
            sys.exit("the first one failed")

    world.in_order(fail)
    print("went on")
"""
DYING = """
import os, signal
import torch
from regard.errors import TrainingError
from regard.training.world import joined_world

with joined_world(torch.device("cpu")) as world:
    world.gather(1)
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        world.gather(2)
    except TrainingError as error:
        print(error)
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def meet(script, size=2):
    """Processes as torchrun starts them → exit code, stdout and stderr of each."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    said = [process.communicate(timeout=120) for process in processes]
    return [(process.returncode, *texts) for process, texts in zip(processes, said, strict=True)]


def test_one_process_meets_nobody():
    world, tensor = World(), torch.ones(2)
    world.sum([tensor])
    world.spread([tensor])
    assert tensor.tolist() == [1.0, 1.0]
    assert (world.gather(3), world.agree(4), world.by_first(lambda: 5), world.in_order(lambda: 6)) == ([3], 4, 5, 6)


def test_processes_agree_and_a_fault_of_the_first_is_told_once():
    ends = meet(MEETING)
    for rank, (_, said, _) in enumerate(ends):
        assert json.loads(said) == {  # and nothing behind it
            "sums": [[3.0] * 3, [[1.0] * 2] * 2], "spread": [0.0, 0.0], "order": [rank],
            "gather": [{"rank": 0}, {"rank": 1}], "agree": 7, "first": 3,
        }  # fmt: skip
    first, second = ends
    assert (first[0], first[2].strip()) == (1, "the first one failed")
    assert (second[0], second[2]) == (1, "")


@pytest.mark.slow
def test_a_killed_process_is_noticed():
    first, second = meet(DYING)
    assert second[0] == -signal.SIGKILL
    assert first[:2] == (0, f"{LOST}\n")


class Torchrun:
    """regard train, in one process or in several."""

    def __init__(self, folder):
        self.folder = folder
        words = ("red", "blue", "old", "new", "house", "tree", "river")
        lines = [
            " ".join(words[(number * (place + 2)) % 7] for place in range(3 + number % 6)) for number in range(400)
        ]
        (folder / "text.a").write_text("".join(f"{line}\n" for line in lines))
        (folder / "text.b").write_text("".join(f"{line[::-1]}\n" for line in lines))

    def start(self, run, *words, processes=1, resume=False):
        several = ["-m", "torch.distributed.run", f"--nproc_per_node={processes}", f"--master_port={free_port()}"]
        data = [f"data.train.source={self.folder / 'text.a'}", f"data.train.target={self.folder / 'text.b'}", *SETTINGS]
        what = [str(run), "--resume"] if resume else [*data, f"run={run}"]
        return subprocess.Popen(
            [sys.executable, *(several if processes > 1 else []), "-m", "regard", "train", *what, *words],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, run, *words, **how):
        process = self.start(run, *words, **how)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        return run


@pytest.fixture
def torchrun(tmp_path):
    return Torchrun(tmp_path)


def losses(run):
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(line["event"], line["update"], line["loss"]) for line in logged]


def tensors(run):
    last = files.load_checkpoint(files.steps(run)[0])
    parts = ("model", "objective", "optimizers", "generators")
    return {(part, name): one for part in parts for name, one in getattr(last, part).items()}


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_two_processes_are_one_with_twice_as_many_batches(torchrun, tmp_path, name, parallel):
    words = [
        *ARCHITECTURES[name],
        *(HEADS if name == "transformer" else []),
        "model.dropout=0",
        "training.max_updates=20",
    ]
    one = losses(torchrun.finish(tmp_path / "one", *words, "training.accumulate=2"))
    two = losses(torchrun.finish(tmp_path / "two", *words, f"training.parallel={parallel}", processes=2))
    assert [line[:2] for line in one] == [line[:2] for line in two]
    assert len(one) == 23
    assert [line[2] for line in two] == pytest.approx([line[2] for line in one], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "objective", ["{name: minimum_risk, samples: 2}", "{name: self_critical, baseline: greedy, samples: 2}"]
)
def test_shards_write_the_targets_that_whole_weights_write(torchrun, tmp_path, objective):
    """A search reads gathered weights: those of this update, not those that were there before."""
    words = [*ARCHITECTURES["transformer"], *HEADS, "model.dropout=0", "training.max_updates=6"]
    words += [f"objective={objective}", "training.learning_rate=0.01", "training.schedule=constant"]
    whole, shards = (
        losses(torchrun.finish(tmp_path / name, *words, f"training.parallel={name}", processes=2))
        for name in ("ddp", "fsdp")
    )
    assert len(whole) == len(shards) > 6
    assert [line[2] for line in shards] == pytest.approx([line[2] for line in whole], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ["training.parallel=ddp"],
        ["training.parallel=fsdp"],
        [
            "training.parallel=fsdp",
            "training.optimizer=lazy_adam",
            "model.position=learned",
        ],  # far places stay untouched
    ],
)
def test_two_processes_resume_exactly(torchrun, tmp_path, settings):
    words = [*ARCHITECTURES["transformer"], *HEADS, "model.dropout=0.2", *settings]
    whole = torchrun.finish(tmp_path / "whole", *words, "training.max_updates=20", processes=2)
    broken = torchrun.finish(tmp_path / "broken", *words, "training.max_updates=9", processes=2)
    torchrun.finish(broken, "training.max_updates=20", processes=2, resume=True)
    wanted, found = tensors(whole), tensors(broken)
    assert {("generators", "cpu"), ("generators", "cpu.1")} <= wanted.keys() == found.keys()
    assert not torch.equal(wanted["generators", "cpu"], wanted["generators", "cpu.1"])
    assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []
    alone = torchrun.start(broken, resume=True)
    said, _ = alone.communicate(timeout=300)
    assert alone.returncode == 2
    assert "was trained by 2 processes and cannot go on with 1 (torchrun --nproc_per_node=2" in " ".join(said.split())


def begun(process, run):
    """Waits until some updates are logged; returns the processes by rank."""
    while not (run / "metrics.jsonl").exists() or (run / "metrics.jsonl").read_text().count("\n") < 5:
        assert process.poll() is None
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ranks = {}
    for child in children:
        variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        ranks |= {int(one.removeprefix(b"RANK=")): int(child) for one in variables if one.startswith(b"RANK=")}
    return ranks


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_all_with_one_line(torchrun, tmp_path, rank):
    words = [*ARCHITECTURES["transformer"], *HEADS, "training.max_updates=100000", "training.save_every_minutes=0.001"]
    process = torchrun.start(tmp_path / "run", *words, processes=2)
    os.kill(begun(process, tmp_path / "run")[rank], signal.SIGKILL)
    said, _ = process.communicate(timeout=100)
    assert process.returncode != 0
    assert " ".join(said.split()).count(LOST) == 1
    assert "regard/training/" not in said  # torchrun shows a traceback of its own, we show none
    assert files.latest_valid(tmp_path / "run")[0].state["processes"] == 2


@pytest.mark.slow
def test_ctrl_c_saves_in_step(torchrun, tmp_path):
    words = [*ARCHITECTURES["transformer"], *HEADS, "training.max_updates=100000"]
    process = torchrun.start(tmp_path / "run", *words, processes=2)
    begun(process, tmp_path / "run")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=100)
    update = files.latest_valid(tmp_path / "run")[0].state["update"]
    assert f"saved after update {update:,}; resume with" in said


@pytest.mark.parametrize("sizes", [[5, 1], [1, 5, 5, 1], [9], []], ids=str)
def test_tensors_larger_than_a_bucket_travel_alone(sizes, monkeypatch):
    monkeypatch.setattr(world, "BUCKET", 4)
    tensors = [torch.zeros(size) for size in sizes]
    buckets = list(world._buckets(tensors))
    assert all(buckets)
    assert [id(one) for bucket in buckets for one in bucket] == [id(one) for one in tensors]
