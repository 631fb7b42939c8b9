"""How long commands take to start: whole processes, from the first instruction to the last.

    python benchmarks/startup.py [RUN] [--rounds 7] [--json FILE]

Each round starts every command once, one after another, and the order rotates. Seconds are those of the processor (user
and system) and of the clock; "above" is what a command takes beyond `import torch` of the same round. `regard predict`
answers one sentence. Without RUN a tiny translator is trained first.

Python keeps the bytecode of what it has compiled, as it does unless it is told otherwise, in a folder of the benchmark.

`import torch, few collections` has what the command line gives itself: a collector of cycles that rarely runs, and none
at the end. What `regard predict` takes beyond that is its own code.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from machine import MEGABYTE, machine
from rounds import commands

REFERENCE = "import torch"
SENTENCE = b"A dog runs over the green field.\n"
FEW_COLLECTIONS = "import atexit, gc; gc.set_threshold(10_000); atexit.register(gc.freeze); import torch"
TINY = [
    "model.dim=64",
    "text.tokenizer={name: words}",
    "training.max_updates=1",
    "training.validate_every=1",
    "training.average=1",
]


class Started(NamedTuple):
    """One process, from start to end."""

    cpu: float  # seconds of the processor, user and system
    wall: float  # seconds
    megabytes: float  # the most memory it held


def processes(run: Path) -> dict[str, list[str]]:
    """What is started, by what a reader calls it."""
    regard = ["-m", "regard"]
    return {
        REFERENCE: ["-c", "import torch"],
        "import torch, few collections": ["-c", FEW_COLLECTIONS],
        "import regard": ["-c", "import regard"],
        "regard --help": [*regard, "--help"],
        "regard train --help": [*regard, "train", "--help"],
        "regard.load(RUN) in Python": ["-c", "import sys, regard; regard.load(sys.argv[1])", str(run)],
        "regard predict RUN": [*regard, "predict", str(run)],
    }


def started(words: Sequence[str]) -> Started:
    """Run Python with these words and one sentence on stdin. Ends the program where that fails."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as given:
        given.write(SENTENCE)
        given.seek(0)
        process = subprocess.Popen([sys.executable, *words], stdin=given, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"benchmark: 'python {' '.join(words)}' failed; its own message stands above")
    return Started(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / MEGABYTE)


def race(contenders: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Started]]:
    """Every process once a round; a first one of each, which compiles and fills the caches of the disk, is left out."""
    names = list(contenders)
    for name in names:
        started(contenders[name])
    found: dict[str, list[Started]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(started(contenders[name]))
    return found


def table(found: Mapping[str, Sequence[Started]]) -> str:
    """Markdown: medians and ranges of the seconds, and of those above the reference within each round."""
    lines = [
        f"| process | CPU s, median [min..max] | above {REFERENCE} | wall s | above {REFERENCE} | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in found.items():
        pairs = list(zip(each, found[REFERENCE], strict=True))
        cells = [
            spread([one.cpu for one in each]),
            spread([one.cpu - other.cpu for one, other in pairs]),
            spread([one.wall for one in each]),
            spread([one.wall - other.wall for one, other in pairs]),
            f"{max(one.megabytes for one in each):,.0f}",
        ]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Median, least and most, in seconds."""
    return f"{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]"


def tiny_run(folder: Path) -> Path:
    """Train a small translator for one update."""
    texts = [folder / "some.en", folder / "some.de"]
    for path, text in zip(texts, ("A dog runs over the green field.\n", "Ein Hund läuft.\n"), strict=True):
        path.write_text(text * 20, encoding="utf-8")
    given = ["--source", str(texts[0]), "--target", str(texts[1]), "--run", str(folder / "run"), "--quiet"]
    subprocess.run([sys.executable, "-m", "regard", "train", *given, *TINY], check=True)
    return folder / "run"


def main() -> None:
    """The command line."""
    parser = commands(__doc__ or "", threads=1)
    parser.set_defaults(rounds=7)
    parser.add_argument(
        "run", nargs="?", type=Path, metavar="RUN", help="a trained run (default: a tiny one is trained)"
    )
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        found = race(processes(chosen.run or tiny_run(Path(folder))), chosen.rounds)
    print(table(found))
    if chosen.json is not None:
        told = {name: [one._asdict() for one in each] for name, each in found.items()}
        shown = {"Processes": table(found)}
        told = {**machine(chosen.threads), "processes": told, "tables": shown}
        chosen.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
