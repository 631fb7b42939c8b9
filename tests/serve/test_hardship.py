"""Places and people that are not kind: a home that cannot be written, no shared memory, a hundred thousand keys."""

import asyncio
import os
import subprocess
import sys
from itertools import count

import pytest
from engines import tiny_run_in
from small_runs import SMALL, write_texts

from benchmarks import benchmark

load = benchmark("load")

GUESSES, CLIENTS = 100_000, 32


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("hardship"))


def command(*words, before=(), **environment):
    """Runs `python -m …` in a process of its own → what it prints. A failure is told by what it says."""
    call = [*before, sys.executable, "-m", *map(str, words)]
    done = subprocess.run(
        call, check=False, env={**os.environ, **environment}, capture_output=True, text=True, input="a dog runs\n"
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout


def lives(tiny, folder, **place):
    """Trains, predicts and draws a picture there → whether all of it was written."""
    cell = "model.encoder={name: recurrent, cell: sru, hidden_dim: 16}"  # whose kernel is compiled and kept
    command("regard", "train", *write_texts(folder), "--run", folder / "run", "--quiet", *SMALL, cell, **place)
    assert command("regard", "predict", tiny, **place) == command("regard", "predict", tiny)
    command("regard", "explain", tiny, "a dog runs", "--plot", folder / "a.png", **place)
    return bool(command("regard", "predict", folder / "run")) and (folder / "a.png").stat().st_size > 0


@pytest.mark.slow
def test_a_home_that_cannot_be_written(tiny, tmp_path):
    """Not even by who may write everywhere."""
    assert lives(tiny, tmp_path, **dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "/dev/null/home"))


@pytest.mark.slow
def test_no_shared_memory(tiny, tmp_path):
    """/dev/shm can be read, and holds nothing; two processes train together all the same."""
    hidden = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "-")
    assert lives(tiny, tmp_path, before=hidden)
    words = [*write_texts(tmp_path), f"run={tmp_path / 'two'}", "--quiet", *SMALL]
    command("torch.distributed.run", "--nproc-per-node=2", "-m", "regard", "train", *words, before=hidden)
    assert command("regard", "predict", tmp_path / "two")


@pytest.mark.slow
def test_a_hundred_thousand_guessed_keys(tiny):
    """None is taken, whoever has a key is answered meanwhile, and nothing grows."""
    numbers, said, memory = count(), dict[int, int](), []
    with load.serving(tiny, "--api-key", "the-right-key") as server:

        async def guess():
            async with load.Client(server) as client:
                while (number := next(numbers)) < GUESSES:
                    answer = await client.ask("yes", key=f"guess-{number}")
                    said[answer.status] = said.get(answer.status, 0) + 1
                    if number in (GUESSES // 5, GUESSES - CLIENTS):
                        memory.append(server.memory()["server"])

        async def case():
            guesses = asyncio.gather(*(guess() for _ in range(CLIENTS)))
            async with load.Client(server) as client:
                answers = [await client.ask("yes", key="the-right-key") for _ in range(200)]
            await guesses
            return answers

        answers = asyncio.run(case())
    assert said == {403: GUESSES}
    assert {answer.status for answer in answers} == {200}
    assert memory[1] < 1.05 * memory[0]
