"""Training by one process and by several, on this machine: tokens/s, beside threads, and with shards of parameters.

    REGARD_DATA=PATH python benchmarks/processes.py [--rounds 3] [--updates 40] [--processes 2] [KEY=VALUE...]

Each way trains the shipped Multi30k Transformer for `--updates` updates of equally many tokens; the order rotates.
Tokens/s are those of the last half of the updates, by the clock, so that starting is left out. Processes exchange
gradients by gloo on a CPU, by NCCL on GPUs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ROOT, machine, markdown, options, save, spread
from timing import rotated

CONFIG = ROOT / "configs" / "translation" / "multi30k-transformer.yaml"
ONE = "1 process, 1 thread"


def ways(processes: int) -> dict[str, tuple[int, int, list[str]]]:
    """Return processes, threads of each, and settings, by name; the tokens of an update are equal."""
    together = [f"training.accumulate={processes}"]
    return {
        ONE: (1, 1, together),
        f"1 process, {processes} threads": (1, processes, together),
        f"{processes} processes, 1 thread each": (processes, 1, []),
        f"{processes} processes, shards (fsdp)": (processes, 1, ["training.parallel=fsdp"]),
    }


def speed(folder: Path, way: tuple[int, int, list[str]], updates: int, changes: list[str]) -> float:
    """Train, and return the tokens/s of the last half of the updates. Raises CalledProcessError."""
    processes, threads, settings = way
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(processes), "--standalone", "-m"]
    given = [f"run={folder}", f"training.max_updates={updates}", "training.validate_every=1000000", "--quiet"]
    command = [*(launch if processes > 1 else [sys.executable, "-m"]), "regard", "train", str(CONFIG)]
    log_every = f"training.log_every={updates // 2}"
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    subprocess.run([*command, *given, log_every, *settings, *changes], env=environment, check=True)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found = [row for row in map(json.loads, lines) if row["event"] == "update"]
    return float(found[-1]["tokens_per_second"])


def main() -> None:
    """The command line."""
    parser = options(__doc__, rounds=3, updates=40, processes=2)
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="settings of the training")
    chosen = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in ways(chosen.processes)}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(rotated(list(found), chosen.rounds)):
            way = ways(chosen.processes)[name]
            found[name].append(speed(Path(folder) / str(number), way, chosen.updates, chosen.changes))
    rows = [
        [name, spread(each, ".0f"), f"{statistics.median(a / b for a, b in zip(each, found[ONE], strict=True)):.2f}"]
        for name, each in found.items()
    ]
    shown = markdown(["", "tokens/s, median [min..max]", f"beside {ONE}"], rows)
    print(shown)
    save(chosen.json, {**machine(chosen.processes), "found": found, "tables": {"Processes": shown}})


if __name__ == "__main__":
    main()
