"""What comes before the first update: learning subwords and preparing many short sentence pairs, whole processes.

    python benchmarks/prepare.py [--pairs 2000000] [--size 8000]
    python benchmarks/prepare.py --pairs 10000 100000 1000000 10000000

Pairs are made up: words by Zipf's law, 3 to 9 of them in a sentence, as in Tatoeba. The table has seconds of the clock
and of all processors, and the most memory that one process held. The second line of each number is the same with the
prepared pairs at hand (data.cache): what is left is learning the subwords. The slope is that of the logarithms.
"""

import tempfile
from pathlib import Path

import numpy as np
from program import as_line, count, head, machine, options, row, save
from timing import Process, exponent, run_process

WORDS, SHORTEST, LONGEST, BLOCK = 60_000, 3, 9, 100_000
RUNS = "first", "again"
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


def prepared(folder: Path, pairs: int, size: int) -> dict[str, Process]:
    """A training of one update, then the same with the prepared pairs at hand."""
    words = [*make_up(folder, pairs), *SETTINGS, f"text.tokenizer.size={size}", "--quiet"]
    words += [f"data.cache={folder / 'cache'}"]
    return {run: run_process(["-m", "regard", "train", *words, "--run", folder / run]) for run in RUNS}


def main() -> None:
    """Prints a table of two lines for each number of pairs, and how the first grows."""
    parser = options(__doc__, size=8000)
    parser.add_argument("--pairs", type=count, nargs="+", default=[2_000_000], help="default: 2000000")
    chosen = parser.parse_args()
    print(as_line(machine(1)))
    print(head("pairs", "", "seconds", "processor seconds", "peak MB"), flush=True)
    found = dict[int, dict[str, Process]]()
    for pairs in chosen.pairs:
        with tempfile.TemporaryDirectory() as place:
            found[pairs] = prepared(Path(place), pairs, chosen.size)
        for name, done in found[pairs].items():
            figures = done.wall, done.cpu, done.megabytes
            print(row(f"{pairs:,}", name, *(f"{cell:,.0f}" for cell in figures)), flush=True)
    print(f"slope of processor seconds: {exponent({pairs: one['first'].cpu for pairs, one in found.items()}):.2f}")
    told = {pairs: {name: done[:3] for name, done in runs.items()} for pairs, runs in found.items()}
    save(chosen.json, {**machine(1), "processor seconds, seconds, MB": told})


if __name__ == "__main__":
    main()
