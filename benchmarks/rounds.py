"""Interleaved rounds: each contender lives in its own process, and one at a time is granted a turn.

A shared machine is fast now and slow then. Ratios are taken inside a round, and their median is told.
"""

import multiprocessing
import statistics
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

Turn = Callable[[], tuple[float, float]]  # runs one turn → (units of work done, seconds it took)


def _live(make: Callable[..., Turn], arguments: tuple[Any, ...], pipe: Connection) -> None:
    turn = make(*arguments)
    turn()  # warm up
    pipe.send("ready")
    while pipe.recv():
        pipe.send(turn())


def race(contenders: dict[str, tuple[Callable[..., Turn], tuple[Any, ...]]], rounds: int) -> dict[str, list[float]]:
    """Units per second of each contender in each round; the order rotates."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = {}, []
    for name, (make, arguments) in contenders.items():
        pipes[name], other = context.Pipe()
        process = context.Process(target=_live, args=(make, arguments, other), daemon=True)
        process.start()
        processes.append(process)
        pipes[name].recv()
    names, speeds = list(contenders), {name: [] for name in contenders}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            pipes[name].send(True)
            units, seconds = pipes[name].recv()
            speeds[name].append(units / seconds)
    for pipe in pipes.values():
        pipe.send(False)
    for process in processes:
        process.join()
    return speeds


def table(speeds: dict[str, list[float]], unit: str, reference: str) -> str:
    """Markdown: median speed, its range, and the median of the ratios to the reference within each round."""
    lines = [f"| contender | {unit}, median [min..max] | ratio to {reference}, median [min..max] |", "|---|---|---|"]
    for name, values in speeds.items():
        ratios = [value / other for value, other in zip(values, speeds[reference], strict=True)]
        lines.append(f"| {name} | {_spread(values, '.0f')} | {_spread(ratios, '.2f')} |")
    return "\n".join(lines)


def _spread(values: list[float], form: str) -> str:
    middle = statistics.median(values)
    return f"{middle:{form}} [{min(values):{form}}..{max(values):{form}}]"
