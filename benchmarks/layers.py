"""What a layer costs by length: recurrent, convolutional, attention to everything and to a window (Table 1 of
https://arxiv.org/abs/1706.03762).

    python benchmarks/layers.py [--dims 64 128] [--lengths 64 128 256 512 1024 2048] [--rounds 5] [--json FILE]

One layer of width d, eight sentences, forward and backward, float32.
  recurrent  h_t = tanh(W x_t + U h_(t-1) + b), by torch's network
  convolution  a masked convolution of kernel 3
  attention  scaled dot, softmax, read; as in that table, without projections
  window     the same over 17 neighbours (radius 8)

Time is that of a process's own processor seconds; each round takes every contender at every length once, and medians
are told. The exponent is the slope of the logarithm of time over that of length, from LONG places on: below, what a
call costs counts for more than what it computes. Attention costs as much as another layer at the crossing, which is
looked for between two lengths in the same scale; counted in multiplications it is 2 n d² : 2 n² d, so n = d for the
recurrent layer, n = 3/2 d for a kernel of 3, and n = 17 for the window.
"""

import argparse
import gc
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from rounds import machine
from torch import Tensor

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention
from regard.layers.convolutional import Convolution
from regard.layers.recurrent import RECURRENT
from regard.registry import Choice

BATCH, RADIUS, KERNEL = 8, 8, 3
LONG = 256
TOGETHER = 1024  # places that a measurement has at least, so that short ones can be timed
NAMES = ("recurrent", "convolution", "attention", "window")
PLACES = {"recurrent": 2, "convolution": KERNEL, "window": 2 * (2 * RADIUS + 1)}  # in d² per place, or d for a window

Case = tuple[str, int, int]  # contender, dim, length


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--lengths", type=int, nargs="+", default=[64 * 2**power for power in range(6)])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    cases = list(itertools.product(NAMES, arguments.dims, arguments.lengths))
    seconds = times(cases, arguments.rounds)
    for dim in arguments.dims:
        print(table(dim, arguments.lengths, seconds), "\n")
    print(distances(arguments.dims[0]))
    if arguments.json:
        told = [
            dict(zip(("contender", "dim", "length", "seconds"), (*case, seconds[case]), strict=True)) for case in cases
        ]
        arguments.json.write_text(json.dumps({**machine(arguments.threads), "cases": told}, indent=1), encoding="utf-8")


def layer(name: str, dim: int) -> Callable[[Tensor], Tensor]:
    """One layer of a kind, as a function of its inputs (batch, n, dim)."""
    if name == "recurrent":
        network = RECURRENT.build(Choice("rnn"), dim, dim)
        return lambda inputs: network(inputs, None)[0]
    if name == "convolution":
        convolution = Convolution(dim, dim, kernel=KERNEL)
        return lambda inputs: convolution(inputs, None)[0]
    span = Choice("window", {"radius": RADIUS}) if name == "window" else Choice("everywhere")
    parts = SCORES.build(Choice("scaled_dot"), dim, dim), SPANS.build(span, dim, dim)
    attention = Attention(*parts, WEIGHTINGS.build(Choice("softmax"), dim))
    return lambda inputs: attention(inputs, attention.remember(inputs)).context


def update(name: str, dim: int, length: int) -> Callable[[], None]:
    """Forward and backward, ready to be run again and again."""
    run = layer(name, dim)
    inputs = torch.randn(BATCH, length, dim, requires_grad=True)
    gradient = torch.randn(BATCH, length, dim)

    def once() -> None:
        run(inputs).backward(gradient)

    return once


def times(cases: Sequence[Case], rounds: int) -> dict[Case, float]:
    """The median seconds of an update."""
    found: dict[Case, list[float]] = {case: [] for case in cases}
    for number in range(rounds):
        turned = number * len(cases) // rounds
        for case in [*cases[turned:], *cases[:turned]]:
            run, repeats = update(*case), max(1, TOGETHER // case[2])
            run()  # warm up
            start = time.process_time()
            for _ in range(repeats):
                run()
            found[case].append((time.process_time() - start) / repeats)
        gc.collect()
    return {case: statistics.median(all_) for case, all_ in found.items()}


def table(dim: int, lengths: Sequence[int], seconds: Mapping[Case, float]) -> str:
    """Markdown: a line for each length, the exponents, and where attention begins to cost more."""
    of = {name: {length: seconds[name, dim, length] for length in lengths} for name in NAMES}
    lines = [f"| d = {dim}, length | " + " | ".join(f"{name}, ms" for name in NAMES) + " |", "|---" * 5 + "|"]
    for length in lengths:
        lines.append(f"| {length:,} | " + " | ".join(f"{of[name][length] * 1e3:.2f}" for name in NAMES) + " |")
    lines.append("| exponent | " + " | ".join(f"{exponent(of[name]):.2f}" for name in NAMES) + " |")
    crossings = [told(crossing(of["attention"], of[name])) if name != "attention" else "" for name in NAMES]
    lines.append("| attention costs as much at | " + " | ".join(crossings) + " |")
    counted = [f"{PLACES[name] * (1 if name == 'window' else dim) / 2:.0f}" if name in PLACES else "" for name in NAMES]
    return "\n".join([*lines, "| by multiplications | " + " | ".join(counted) + " |"])


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log time over log length, by least squares, from LONG on."""
    long = [(math.log(length), math.log(value)) for length, value in seconds.items() if length >= LONG]
    return statistics.linear_regression(*zip(*long, strict=True))[0] if len(long) > 1 else math.nan


def crossing(attention: Mapping[int, float], other: Mapping[int, float]) -> float:
    """The length from which attention takes longer: nan if it never does, 0 if it always does."""
    gaps = [(length, math.log(attention[length] / other[length])) for length in sorted(attention)]
    if gaps[0][1] > 0:
        return 0.0
    for (before, less), (after, more) in itertools.pairwise(gaps):
        if less <= 0 < more:
            return math.exp(math.log(before) + math.log(after / before) * less / (less - more))
    return math.nan


def told(length: float) -> str:
    """A crossing for a person."""
    return "never" if math.isnan(length) else "always" if length == 0 else f"{length:.0f}"


def distances(dim: int, places: int = 65) -> str:
    """Markdown: how much of a gradient comes from how far away, through two untrained layers of each kind.

    The norm of d out_last / d in_(last - distance), by that at distance 0.
    """
    asked = [0, 1, 2, 4, 8, 16, 32, 64]
    lines = ["| distance | " + " | ".join(map(str, asked)) + " |", "|---" * (len(asked) + 1) + "|"]
    for name in NAMES:
        torch.manual_seed(1)
        stack = [layer(name, dim), layer(name, dim)]
        inputs = torch.randn(BATCH, places, dim, requires_grad=True)
        states = inputs
        for run in stack:
            states = run(states)
        (gradient,) = torch.autograd.grad(states[:, -1], inputs, torch.randn(BATCH, dim))
        norms = gradient.flip(1).norm(dim=-1).mean(dim=0)
        lines.append(f"| {name} | " + " | ".join(f"{float(norms[far] / norms[0]):.1e}" for far in asked) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
