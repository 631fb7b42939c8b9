"""How waiting threads of OpenMP change the speed of training, alone, beside other programs and beside a training.

    REGARD_DATA=PATH python benchmarks/spinning.py [--rounds 3] [--seconds 10] [--busy 0 1 2] [--json FILE]

Threads that wait for the others of their team spin, so that they go on at once; where other programs want the cores,
they spin in the place of the thread that they wait for. Each variant trains the shipped Multi30k model in a process of
its own, round by round; `--busy` says how many endless loops run beside it. The unit is real target tokens a second.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

VARIANTS = {
    "as OpenMP has it": {},
    "regard train": {"GOMP_SPINCOUNT": "2000"},
    "spin 20,000 times": {"GOMP_SPINCOUNT": "20000"},
    "never spin": {"OMP_WAIT_POLICY": "PASSIVE"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
TWO, ONE_THREAD = "two at once, one thread each", VARIANTS["one thread"]
CHILD = "child"
LOOP = "while True: pass"


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Other programs that want a core each."""
    others = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(loops)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def speed(folder: Path, seconds: float, variables: dict[str, str]) -> float:
    """Tokens a second of one process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    words = [sys.executable, __file__, CHILD, str(folder), str(seconds)]
    done = subprocess.run(words, env={**kept, **variables}, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def two(folder: Path, seconds: float) -> float:
    """Tokens a second of two processes together, with a thread each."""
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda variables: speed(folder, seconds, variables), [ONE_THREAD] * 2))


def child(folder: Path, seconds: float) -> None:
    """Trains for so long, and prints tokens a second."""
    from train import regard

    from regard.runs import RunFolder

    turn = regard(RunFolder(folder), 2000).turn
    turn()
    done, start = 0.0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        done += turn()
    print(done / (time.perf_counter() - start))


def main() -> None:
    """Prints a table: a row for each variant, a column for each number of loops."""
    from program import machine, markdown, save, spread
    from workload import parser_of, prepare

    parser = parser_of(__doc__, seconds=10.0)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2], help="endless loops beside it")
    chosen = parser.parse_args()
    found: dict[str, dict[int, list[float]]] = {name: {loops: [] for loops in chosen.busy} for name in (*VARIANTS, TWO)}
    with tempfile.TemporaryDirectory() as place:
        folder = prepare(Path(place), chosen.changes).path
        for _ in range(chosen.rounds):
            for loops in chosen.busy:
                with busy(loops):
                    for name, variables in VARIANTS.items():
                        found[name][loops].append(speed(folder, chosen.seconds, variables))
                    found[TWO][loops].append(two(folder, chosen.seconds))
    rows = [[name, *(spread(of, ",.0f") for of in columns.values())] for name, columns in found.items()]
    shown = markdown(["variant", *(f"{loops} loops beside it" for loops in chosen.busy)], rows)
    print(shown)
    save(chosen.json, {**machine(chosen.threads), "speeds": found, "tables": {"Target tokens a second": shown}})


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        child(Path(sys.argv[2]), float(sys.argv[3]))
    else:
        main()
