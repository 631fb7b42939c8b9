"""Windows of attention against attention to everything: time and memory over lengths, forward and backward.

    python benchmarks/window.py [--radius 8] [--lengths 512 1024 2048 4096 8192 16384] [--rounds 5] [--json FILE]

Four heads of 64, one sentence, scaled dot, softmax, float32.
  window   the span `window`: few keys are copied, block by block
  fused    everything, by torch's fused attention, which holds no scores
  masked   everything but what the window hides, by a mask: what a window costs without a kernel of its own
  formula  everything, by the formula: all scores, all weights

Time is that of a process's own processor seconds, so other work on the machine counts for little; each round takes
every contender at every length once, and medians are told. Memory is what one update adds to the peak of a process of
its own. The exponent is the slope of the logarithm of time over that of length: 1 grows as the length, 2 as its square.
"""

import argparse
import gc
import json
import math
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rounds import MEGABYTE, machine

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, plain
from regard.registry import Choice

HEADS, DIM = 4, 64
LARGEST = {"masked": 4096, "formula": 4096}  # beyond, a square of all places is more than a small machine has room for
TOGETHER = 2048  # places that an update has at least, so that short ones can be timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--radius", type=int, default=8)
    parser.add_argument("--lengths", type=int, nargs="+", default=[512 * 2**power for power in range(6)])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    cases = [
        (name, length)
        for name in ("window", "fused", "masked", "formula")
        for length in arguments.lengths
        if length <= LARGEST.get(name, length)
    ]
    seconds = times(cases, arguments.radius, arguments.rounds)
    megabytes = {case: memory(*case, arguments.radius, arguments.threads) for case in cases}
    print(table(arguments.lengths, seconds, megabytes))
    if arguments.json:
        told = [
            {"contender": name, "length": length, "seconds": seconds[name, length], "MB": megabytes[name, length]}
            for name, length in cases
        ]
        found = {**machine(arguments.threads), "radius": arguments.radius, "heads": HEADS, "dim": DIM, "cases": told}
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def update(name: str, length: int, radius: int) -> Callable[[], None]:
    """One forward and backward pass over a sentence."""
    span = Choice("window", {"radius": radius}) if name in ("window", "masked") else Choice("everywhere")
    attention = Attention(
        SCORES.build(Choice("scaled_dot"), DIM, DIM),
        SPANS.build(span, DIM, DIM),
        WEIGHTINGS.build(Choice("softmax"), DIM),
    )
    queries, keys, values = (torch.randn(1, HEADS, length, DIM, requires_grad=True) for _ in range(3))
    gradient = torch.randn(1, HEADS, length, DIM)

    def run() -> None:
        context = attention(queries, attention.remember(keys, values)).context
        torch.autograd.grad(context, (queries, keys, values), gradient)

    def run_plain() -> None:
        with plain():
            run()

    return run_plain if name in ("masked", "formula") else run


def times(cases: list[tuple[str, int]], radius: int, rounds: int) -> dict[tuple[str, int], float]:
    """The median seconds of an update."""
    found: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for number in range(rounds):
        turned = number % len(cases)
        for name, length in cases[turned:] + cases[:turned]:
            run, repeats = update(name, length, radius), max(1, TOGETHER // length)
            run()  # warm up
            start = time.process_time()
            for _ in range(repeats):
                run()
            found[name, length].append((time.process_time() - start) / repeats)
            gc.collect()
    return {case: statistics.median(all_) for case, all_ in found.items()}


def memory(name: str, length: int, radius: int, threads: int) -> float:
    """Megabytes that an update adds to the peak of a process that has done a short one."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_memory, (name, length, radius, threads))


def _memory(name: str, length: int, radius: int, threads: int) -> float:
    torch.set_num_threads(threads)
    update(name, 256, radius)()  # what torch itself needs once
    run, before = update(name, length, radius), _peak()
    run()
    return _peak() - before


def _peak() -> float:
    """Of this process alone: where the system tells it, not the figure that a child inherits."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


def table(lengths: list[int], seconds: dict[tuple[str, int], float], megabytes: dict[tuple[str, int], float]) -> str:
    """Markdown: a line for each length, and the exponents."""
    names = list(dict.fromkeys(name for name, _ in seconds))
    lines = [
        "| length | " + " | ".join(f"{name}, ms" for name in names) + " | "
        + " | ".join(f"{name}, MB" for name in names) + " |",
        "|---|" + "---|" * (2 * len(names)),
    ]  # fmt: skip
    for length in lengths:
        told = [f"{seconds[name, length] * 1e3:.1f}" if (name, length) in seconds else "" for name in names]
        told += [f"{megabytes[name, length]:.1f}" if (name, length) in seconds else "" for name in names]
        lines.append(f"| {length:,} | " + " | ".join(told) + " |")
    slopes = [
        f"{exponent({length: value for (other, length), value in seconds.items() if other == name}):.2f}"
        for name in names
    ]
    return "\n".join([*lines, "| exponent | " + " | ".join(slopes) + " |" + " |" * len(names)])


def exponent(seconds: dict[int, float]) -> float:
    """The slope of log time over log length, by least squares."""
    if len(seconds) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*((math.log(n), math.log(s)) for n, s in seconds.items()), strict=True))[0]


if __name__ == "__main__":
    main()
