"""A server under load: how many translations a second, how soon, and what it does when it is asked for too many.

    python benchmarks/serve.py RUN --texts FILE [--seconds 10] [--clients 1 8 32 128] [--overload 60] [--json FILE]

The server and its clients share the machine, over its loopback; each request is one line of FILE.
  at once     so many clients, each of which asks again as soon as it is answered
  one by one  the same, and the model gets one text at a time: --max-batch-tokens 1
  overload    for so many seconds, twice as many requests a second as were answered by all those clients
"""

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from load import Server, at_once, figures, serving, whatever_it_says
from machine import machine

WARM = 2.0  # seconds before the clock starts


def main() -> None:
    """Prints the figures of every measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="one a line")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement (default 10)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--compared", type=int, default=32, help="clients beside whom batches of one are measured")
    parser.add_argument("--overload", type=float, default=60.0, help="seconds, 0 to leave it out (default 60)")
    parser.add_argument("--options", nargs="*", default=[], help="of regard serve, without dashes: threads=2")
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    given = parser.parse_args()
    texts = [line for line in given.texts.read_text("utf-8").splitlines() if line.strip()]
    options = [word for option in given.options for word in f"--{option}".split("=", 1)]
    found = measure(given, texts, options)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(given: argparse.Namespace, texts: list[str], options: list[str]) -> dict[str, Any]:
    """All measurements, told as they are made."""
    found: dict[str, Any] = {"machine": machine(1), "at once": {}}
    print("| clients | translations/s | p50 ms | p95 ms | p99 ms |\n|---|---|---|---|---|")
    with serving(given.run, *options) as server:
        _closed(server, texts, max(given.clients), WARM)
        for clients in given.clients:
            row = found["at once"][clients] = _closed(server, texts, clients, given.seconds)
            _tell(str(clients), row)
        if given.overload:
            capacity = max(row["per_second"] for row in found["at once"].values())
            found["overload"] = overload(server, texts, 2 * capacity, given.overload)
    with serving(given.run, *options, "--max-batch-tokens", 1) as server:
        _closed(server, texts, given.compared, WARM)
        row = found["one by one"] = _closed(server, texts, given.compared, given.seconds)
        _tell(f"{given.compared}, one by one", row)
    if given.compared in found["at once"]:
        found["ratio"] = found["at once"][given.compared]["per_second"] / row["per_second"]
        print(f"\nbatches against one by one at {given.compared} clients: {found['ratio']:.2f}")
    if given.overload:
        print(f"overload: {json.dumps(found['overload'])}")
    return found


def overload(server: Server, texts: list[str], rate: float, seconds: float) -> dict[str, Any]:
    """More than it can answer, evenly. Memory is compared from a fifth of the time on."""
    memory: list[dict[str, float]] = []
    answers = asyncio.run(whatever_it_says(server, texts, rate, seconds, lambda: memory.append(server.memory())))
    early, late = memory[len(memory) // 5], memory[-1]
    refused = [answer for answer in answers if answer.status == 429]
    return {
        "asked_per_second": rate,
        **figures(answers, seconds),
        "refused_without_retry_after": sum(answer.retry_after is None for answer in refused),
        "megabytes": late,
        "growth": {name: late[name] / early[name] - 1 for name in late},
    }


def _closed(server: Server, texts: list[str], clients: int, seconds: float) -> dict[str, Any]:
    return figures(asyncio.run(at_once(server, texts, clients, seconds)), seconds)


def _tell(name: str, row: dict[str, Any]) -> None:
    bad = {status: count for status, count in row["statuses"].items() if status != "200"}
    times = " | ".join(f"{row[quantile]:.0f}" for quantile in ("p50", "p95", "p99"))
    print(f"| {name} | {row['per_second']:.1f} | {times} |{f' {bad}' if bad else ''}", flush=True)


if __name__ == "__main__":
    main()
