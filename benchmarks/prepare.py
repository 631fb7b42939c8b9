"""What comes before the first update: learning subwords and preparing many short sentence pairs, whole processes.

    python benchmarks/prepare.py [--pairs 2000000] [--size 8000]

Pairs are made up: words by Zipf's law, 3 to 9 of them in a sentence, as in Tatoeba. Told are seconds of the clock and
of all processors, and the most memory that one process of it held. The second line is the same with the prepared pairs
at hand (data.cache): what is left is learning the subwords.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import MEGABYTE, as_line, machine
from rounds import count

WORDS, SHORTEST, LONGEST, BLOCK = 60_000, 3, 9, 100_000
SETTINGS = [
    "model.dim=8", "model.encoder.num_layers=1", "model.decoder.num_layers=1", "training.max_updates=1",
    "training.batch_sentences=4", "training.batch_tokens=null",
]  # fmt: skip


def make_up(folder: Path, pairs: int) -> list[str]:
    """Two files of so many lines → the options that name them."""
    draws = np.random.default_rng(1)
    letters = np.array(list("etaonirshdlucmfwypvbgk"))
    words = ["".join(letters[draws.integers(0, len(letters), draws.integers(1, 10))]) for _ in range(WORDS)]
    odds = 1 / np.arange(1, WORDS + 1)
    for name in ("source", "target"):
        with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
            for start in range(0, pairs, BLOCK):
                lengths = draws.integers(SHORTEST, LONGEST + 1, min(BLOCK, pairs - start)).tolist()
                picked = iter(draws.choice(WORDS, sum(lengths), p=odds / odds.sum()).tolist())
                file.writelines(" ".join(words[next(picked)] for _ in range(length)) + ".\n" for length in lengths)
    return ["--source", str(folder / "source"), "--target", str(folder / "target")]


def main() -> None:
    """Prints a table of two lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=count, default=2_000_000, help="sentence pairs (default 2000000)")
    parser.add_argument("--size", type=count, default=8000, help="subwords (default 8000)")
    chosen = parser.parse_args()
    print(as_line(machine(1)))
    print(f"{chosen.pairs:,} pairs\n| | seconds | processor seconds | peak MB |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        options = [*make_up(folder, chosen.pairs), *SETTINGS, f"text.tokenizer.size={chosen.size}", "--quiet"]
        options += [f"data.cache={folder / 'cache'}"]
        for name in ("first", "again"):
            start = time.perf_counter()
            training = subprocess.Popen([sys.executable, "-m", "regard", "train", *options, "--run", folder / name])
            _, status, used = os.wait4(training.pid, 0)  # with the processes that it waited for itself
            if status:
                raise SystemExit("benchmark: the training failed, as told above")
            cells = time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / MEGABYTE
            print(f"| {name} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
