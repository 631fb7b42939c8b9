"""What comes before the first update: learning subwords and preparing many short sentence pairs, whole processes.

    python benchmarks/prepare.py [--pairs 2000000] [--size 8000]

Pairs are made up: words by Zipf's law, 3 to 9 of them in a sentence, as in Tatoeba. Told are seconds of the clock and
of all processors, and the most memory that one process of it held. The second line is the same with the prepared pairs
at hand (data.cache): what is left is learning the subwords.
"""

import tempfile
from pathlib import Path

import numpy as np
from program import as_line, head, machine, options, row, save
from timing import run_process

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
    chosen = options(__doc__, pairs=2_000_000, size=8000).parse_args()
    print(as_line(machine(1)))
    print(f"{chosen.pairs:,} pairs\n{head('', 'seconds', 'processor seconds', 'peak MB')}", flush=True)
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        words = [*make_up(folder, chosen.pairs), *SETTINGS, f"text.tokenizer.size={chosen.size}", "--quiet"]
        words += [f"data.cache={folder / 'cache'}"]
        for name in ("first", "again"):
            done = run_process(["-m", "regard", "train", *words, "--run", folder / name])
            found[name] = done.wall, done.cpu, done.megabytes
            print(row(name, *(f"{cell:,.0f}" for cell in found[name])), flush=True)
    save(chosen.json, {**machine(1), "seconds, processor seconds, MB": found})


if __name__ == "__main__":
    main()
