"""Bulk prediction beside the plain command: equal answers, speed, and what kills lose.

    python benchmarks/bulk.py RUN TEXT [--lines 200000] [--shards 100] [--workers 2] [--kills 20] [--ray] [--json FILE]

The first `--lines` lines of TEXT, plain or packed and repeated with a number where there are fewer, are translated by
`regard predict RUN`, by `--shards` in processes and, with `--ray`, in actors of Ray. Then the processes, or the command
itself, are killed (SIGKILL) at random moments, and the command is repeated until it ends. Every result is compared with
that of the plain command, line by line. Seconds are those of the clock, with all that starting and joining takes.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from program import machine, markdown, options, save

from regard.data.readers.lines import read_lines

CHILD = "regard.recipes.shards"  # in the command line of a process that answers shards
GAPS = (1.0, 12.0)  # seconds between two kills


def texts_of(path: Path, lines: int) -> Iterator[str]:
    """The first lines of a text; once it has ended, the same with a number, so that they differ."""
    known = [*islice(read_lines(path), lines)]
    again = (f"{line} {number}" for number in range(2, lines + 2) for line in known)
    return islice(chain(known, again), lines)


def differing(wanted: Path, found: Path) -> int:
    """Count the lines that differ, and those that one text has more than the other."""
    texts = [wanted.read_bytes().split(b"\n"), found.read_bytes().split(b"\n")]
    return sum(a != b for a, b in zip(*texts, strict=False)) + abs(len(texts[0]) - len(texts[1]))


def timed(command: Sequence[str], text: Path | None = None, answers: Path | None = None) -> float:
    """Return the seconds of a whole command. Raises CalledProcessError."""
    start = time.perf_counter()
    with (text or Path("/dev/null")).open("rb") as given, (answers or Path("/dev/null")).open("wb") as made:
        subprocess.run(command, stdin=given, stdout=made, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def killed(command: Sequence[str], kills: int, chance: random.Random) -> dict[str, int]:
    """Repeat a command until it ends by itself; it, or one of its processes, is killed at random moments meanwhile."""
    found = {"command": 0, "worker": 0, "starts": 0}
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found["starts"] += 1
        while process.poll() is None:
            if found["command"] + found["worker"] >= kills:
                process.wait()
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(*GAPS))
            workers = children(process.pid)
            if process.poll() is None and workers and chance.random() < 0.5:
                signal_to(chance.choice(workers))
                found["worker"] += 1
            elif process.poll() is None:
                process.kill()
                process.wait()
                found["command"] += 1
        if process.returncode == 0:
            return found


def children(parent: int) -> list[int]:
    """Return the processes of a command that answer shards."""
    found = subprocess.run(["pgrep", "-P", str(parent), "-f", CHILD], capture_output=True, text=True, check=False)
    return [*map(int, found.stdout.split())]


def signal_to(process: int) -> None:
    """Kill a process unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def main() -> None:
    """The command line."""
    parser = options(__doc__, lines=200_000, shards=100, workers=2, kills=20, seed=1)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("text", type=Path, metavar="TEXT")
    parser.add_argument("--ray", action="store_true", help="measure actors of Ray, too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(chosen, Path(folder))
    rows = [
        [
            name,
            one["differing"],
            f"{one['seconds']:.0f}",
            f"{found['plain']['seconds'] / one['seconds']:.2f}",
            one["kills"],
        ]
        for name, one in found.items()
    ]
    shown = markdown(["", "differing lines", "seconds", "speed beside plain", "kills"], rows)
    print(shown)
    save(chosen.json, {**machine(chosen.workers), "found": found, "tables": {"Bulk": shown}})


def measured(chosen: Any, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of each way to translate the texts."""
    text, plain = folder / "texts.txt", folder / "plain.txt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in texts_of(chosen.text, chosen.lines))
    command = [sys.executable, "-m", "regard", "predict", str(chosen.run)]
    found = {"plain": {"seconds": timed(command, text, plain), "differing": 0, "kills": ""}}
    bulk = [*command, str(text), "--shards", str(chosen.shards), "--workers", str(chosen.workers), "-o"]
    ways = {"processes": [], **({"ray": ["--on", "ray"]} if chosen.ray else {})}
    for name, more in ways.items():
        out = folder / name
        seconds = timed([*bulk, str(out), *more])
        found[name] = {"seconds": seconds, "differing": differing(plain, out / text.name), "kills": ""}
    out, start = folder / "killed", time.perf_counter()
    kills = killed([*bulk, str(out)], chosen.kills, random.Random(chosen.seed))
    said = f"{kills['command']} of the command, {kills['worker']} of processes"
    seconds = time.perf_counter() - start
    found["processes, killed"] = {"seconds": seconds, "differing": differing(plain, out / text.name), "kills": said}
    return found


if __name__ == "__main__":
    main()
