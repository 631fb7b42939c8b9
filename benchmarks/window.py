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

import multiprocessing
import statistics
from collections.abc import Callable

import torch
from program import count, machine, markdown, options, peak, save
from timing import exponent, interleaved

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention
from regard.ops.plain import plain
from regard.registry import Choice

HEADS, DIM = 4, 64
LARGEST = {"masked": 4096, "formula": 4096}  # beyond, a square of all places is more than a small machine has room for
TOGETHER = 2048  # places that an update has at least, so that short ones can be timed


def main() -> None:
    """Prints a line for each length."""
    parser = options(__doc__, rounds=5, radius=8, threads=1)
    parser.add_argument("--lengths", type=count, nargs="+", default=[512 * 2**power for power in range(6)])
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    cases = [
        (name, length)
        for name in ("window", "fused", "masked", "formula")
        for length in chosen.lengths
        if length <= LARGEST.get(name, length)
    ]
    runs = {case: update(*case, chosen.radius) for case in cases}
    spent = interleaved(runs, chosen.rounds, repeats=lambda case: max(1, TOGETHER // case[1]))
    seconds = {case: statistics.median(each) for case, each in spent.items()}
    megabytes = {case: memory(*case, chosen.radius, chosen.threads) for case in cases}
    shown = table(chosen.lengths, seconds, megabytes)
    print(shown)
    figures = [
        {"contender": name, "length": length, "seconds": seconds[name, length], "MB": megabytes[name, length]}
        for name, length in cases
    ]
    found = {**machine(chosen.threads), "radius": chosen.radius, "heads": HEADS, "dim": DIM, "cases": figures}
    save(chosen.json, found | {"tables": {f"Attention to {2 * chosen.radius + 1} neighbours": shown}})


def update(name: str, length: int, radius: int, device: str = "cpu") -> Callable[[], None]:
    """One forward and backward pass over a sentence."""
    span = Choice("window", {"radius": radius}) if name in ("window", "masked") else Choice("everywhere")
    attention = Attention(
        SCORES.build(Choice("scaled_dot"), DIM, DIM),
        SPANS.build(span, DIM, DIM),
        WEIGHTINGS.build(Choice("softmax"), DIM),
    )
    queries, keys, values = (torch.randn(1, HEADS, length, DIM, device=device, requires_grad=True) for _ in range(3))
    gradient = torch.randn(1, HEADS, length, DIM, device=device)

    def run() -> None:
        context = attention(queries, attention.remember(keys, values)).context
        torch.autograd.grad(context, (queries, keys, values), gradient)

    def run_plain() -> None:
        with plain():
            run()

    return run_plain if name in ("masked", "formula") else run


def memory(name: str, length: int, radius: int, threads: int) -> float:
    """Megabytes that an update adds to the peak of a process that has done a short one."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_memory, (name, length, radius, threads))


def _memory(name: str, length: int, radius: int, threads: int) -> float:
    torch.set_num_threads(threads)
    update(name, 256, radius)()  # what torch itself needs once
    run, before = update(name, length, radius), peak()
    run()
    return peak() - before


def table(lengths: list[int], seconds: dict[tuple[str, int], float], megabytes: dict[tuple[str, int], float]) -> str:
    """Markdown: a line for each length, and the exponents."""
    names = list(dict.fromkeys(name for name, _ in seconds))
    rows = [
        [
            f"{length:,}",
            *(f"{seconds[name, length] * 1e3:.1f}" if (name, length) in seconds else "" for name in names),
            *(f"{megabytes[name, length]:.1f}" if (name, length) in seconds else "" for name in names),
        ]
        for length in lengths
    ]
    slopes = [
        f"{exponent({length: value for (other, length), value in seconds.items() if other == name}):.2f}"
        for name in names
    ]
    cells = ["length", *(f"{name}, ms" for name in names), *(f"{name}, MB" for name in names)]
    return markdown(cells, [*rows, ["exponent", *slopes, *("" for _ in names)]])


if __name__ == "__main__":
    main()
