"""Additive scores in chunks against the plain formula, which holds (batch, query, key, hidden) at once.

    python benchmarks/additive.py [--rounds 5] [--shape BATCH QUERIES KEYS DIM] [--threads 2] [--json FILE]

A turn is forward and backward of one call in float32. The unit is scores a second; peak MB is the most memory that the
process ever held, and below stands what of it came on top of the inputs. Without a shape: a long text, a batch of
sentences of Multi30k, and one step of a decoder over them.
"""

import argparse
import resource
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from rounds import MEGABYTE, Contender, Record, machine, race, save, table

from regard.attention import plain
from regard.attention.scores.additive import AdditiveScore
from regard.memory import keep_memory

Shape = tuple[int, int, int, int]

SHAPES: tuple[Shape, ...] = ((32, 64, 512, 512), (64, 13, 14, 256), (64, 1, 14, 256))  # batch, queries, keys, dim
LEAST = 2**24  # hidden numbers of a turn, so that a short call is timed many times
REFERENCE = "plain"


def contender(shape: Shape, chunked: bool) -> Contender:
    """One score of this shape, with the allocator setting of training."""
    keep_memory()
    batch, num_queries, num_keys, dim = shape
    score = AdditiveScore(dim, dim, hidden_dim=dim)
    queries, keys = torch.randn(batch, num_queries, dim), torch.randn(batch, num_keys, dim)
    calls = max(1, LEAST // (batch * num_queries * num_keys * dim))
    peaks = [_peak()]

    def turn() -> float:
        with nullcontext() if chunked else plain():
            for _ in range(calls):
                score.zero_grad()
                scores = score(queries, score.prepare(keys), None)
                scores.square().mean().backward()
        peaks[1:] = [_peak()]
        return calls * batch * num_queries * num_keys

    return Contender(turn, score, peaks)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MEGABYTE


def memory(records: dict[str, Record]) -> str:
    """A line on what each took beyond its inputs."""
    return "Beyond the inputs: " + ", ".join(
        f"{name} {record.outputs[1] - record.outputs[0]:,} MB" for name, record in records.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="of torch (default 2)")
    parser.add_argument("--shape", type=int, nargs=4, metavar=("BATCH", "QUERIES", "KEYS", "DIM"), help="one shape")
    parser.add_argument("--json", type=Path, help="write every figure here")
    chosen = parser.parse_args()
    shapes = SHAPES if chosen.shape is None else (tuple(chosen.shape),)
    races: dict[str, Any] = {}
    for shape in shapes:
        title = "batch {}, {} queries, {} keys, dim {}".format(*shape)
        makes = {name: (contender, (shape, name == "chunked")) for name in (REFERENCE, "chunked")}
        races[title] = race(makes, chosen.rounds, chosen.threads)
        print(f"\n{title}\n\n{table(races[title], 'scores/s', REFERENCE)}\n\n{memory(races[title])}", flush=True)
    if chosen.json is not None:
        save(chosen.json, machine(chosen.threads), races)


if __name__ == "__main__":
    main()
