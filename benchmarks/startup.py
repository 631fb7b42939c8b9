"""How long commands take to start: whole processes, from the first instruction to the last.

    python benchmarks/startup.py [RUN] [--rounds 7] [--json FILE]

Each round starts every command once, one after another, and the order rotates. Seconds are those of the processor (user
and system) and of the clock; "above" is what a command takes beyond `import torch` of the same round. `regard predict`
answers one sentence. Without RUN a tiny translator is trained first.

Python keeps the bytecode of what it has compiled, as it does unless it is told otherwise, in a folder of the benchmark.

`import torch, few collections` has what the command line gives itself: a collector of cycles that rarely runs, and none
at the end. What `regard predict` takes beyond that is its own code.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from program import machine, markdown, options, regard, save, spread
from timing import Process, rotated, run_process

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


def processes(run: Path) -> dict[str, list[str]]:
    """What is started, by what a reader calls it."""
    command = ["-m", "regard"]
    return {
        REFERENCE: ["-c", "import torch"],
        "import torch, few collections": ["-c", FEW_COLLECTIONS],
        "import regard": ["-c", "import regard"],
        "regard --help": [*command, "--help"],
        "regard train --help": [*command, "train", "--help"],
        "regard.load(RUN) in Python": ["-c", "import sys, regard; regard.load(sys.argv[1])", str(run)],
        "regard predict RUN": [*command, "predict", str(run)],
    }


def race(contenders: Mapping[str, Sequence[str]], rounds: int, given: bytes = SENTENCE) -> dict[str, list[Process]]:
    """Every process once a round; a first one of each, which compiles and fills the caches of the disk, is left out."""
    for words in contenders.values():
        run_process(words, given)
    found: dict[str, list[Process]] = {name: [] for name in contenders}
    for name in rotated(list(contenders), rounds):
        found[name].append(run_process(contenders[name], given))
    return found


def table(found: Mapping[str, Sequence[Process]]) -> str:
    """Markdown: medians and ranges of the seconds, and of those above the reference within each round."""
    rows = []
    for name, each in found.items():
        pairs = list(zip(each, found[REFERENCE], strict=True))
        cells = [
            spread([one.cpu for one in each]),
            spread([one.cpu - other.cpu for one, other in pairs]),
            spread([one.wall for one in each]),
            spread([one.wall - other.wall for one, other in pairs]),
        ]
        rows.append([name, *cells, f"{max(one.megabytes for one in each):,.0f}"])
    above = f"above {REFERENCE}"
    return markdown(["process", "CPU s, median [min..max]", above, "wall s", above, "peak MB"], rows)


def tiny_run(folder: Path) -> Path:
    """Train a small translator for one update."""
    texts = [folder / "some.en", folder / "some.de"]
    for path, text in zip(texts, ("A dog runs over the green field.\n", "Ein Hund läuft.\n"), strict=True):
        path.write_text(text * 20, encoding="utf-8")
    given = ["--source", str(texts[0]), "--target", str(texts[1]), "--run", str(folder / "run"), "--quiet"]
    regard("train", *given, *TINY)
    return folder / "run"


def main() -> None:
    """The command line."""
    parser = options(__doc__, rounds=7, threads=1)
    parser.add_argument(
        "run", nargs="?", type=Path, metavar="RUN", help="a trained run (default: a tiny one is trained)"
    )
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        found = race(processes(chosen.run or tiny_run(Path(folder))), chosen.rounds)
    shown = table(found)
    print(shown)
    told = {name: [one._asdict() for one in each] for name, each in found.items()}
    save(chosen.json, {**machine(chosen.threads), "processes": told, "tables": {"Processes": shown}})


if __name__ == "__main__":
    main()
