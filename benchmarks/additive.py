"""Additive scores in chunks against the plain formula, which holds (batch, query, key, hidden) at once.

    python benchmarks/additive.py [--rounds 5] [--shape BATCH QUERIES KEYS DIM] [--threads 2] [--json FILE]

A turn is forward and backward of one call in float32. The unit is scores a second; peak MB is the most memory that the
process ever held, and below stands what of it came on top of the inputs. Without a shape: a long text, a batch of
sentences of Multi30k, and one step of a decoder over them.
"""

from collections.abc import Mapping
from contextlib import nullcontext

import torch
from program import peak
from timing import Contender, Record, race_shapes

from regard.attention.scores.additive import AdditiveScore
from regard.ops.memory import keep_memory
from regard.ops.plain import plain

SHAPES = ((32, 64, 512, 512), (64, 13, 14, 256), (64, 1, 14, 256))  # batch, queries, keys, dim
LEAST = 2**24  # hidden numbers of a turn, so that a short call is timed many times
REFERENCE = "plain"


def contender(name: str, batch: int, num_queries: int, num_keys: int, dim: int) -> Contender:
    """One score of this shape, with the allocator setting of training."""
    keep_memory()
    score = AdditiveScore(dim, dim, hidden_dim=dim)
    queries, keys = torch.randn(batch, num_queries, dim), torch.randn(batch, num_keys, dim)
    calls = max(1, LEAST // (batch * num_queries * num_keys * dim))
    peaks = [round(peak())]

    def turn() -> float:
        with plain() if name == REFERENCE else nullcontext():
            for _ in range(calls):
                score.zero_grad()
                scores = score(queries, score.prepare(keys), None)
                scores.square().mean().backward()
        peaks[1:] = [round(peak())]
        return calls * batch * num_queries * num_keys

    return Contender(turn, score, peaks)


def memory(records: Mapping[str, Record]) -> list[str]:
    """A line on what each took beyond its inputs."""
    taken = (f"{name} {record.outputs[1] - record.outputs[0]:,} MB" for name, record in records.items())
    return [f"Beyond the inputs: {', '.join(taken)}"]


def main() -> None:
    """Races at every shape."""
    names, title = (REFERENCE, "chunked"), "batch {batch}, {queries} queries, {keys} keys, dim {dim}"
    race_shapes(__doc__, contender, names, SHAPES, title=title, unit="scores/s", reference=REFERENCE, tell=memory)


if __name__ == "__main__":
    main()
