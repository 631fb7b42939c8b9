"""Planted synonyms: how many words have, among their nearest, the twin that stands in half of their places.

    REGARD_DATA=PATH python benchmarks/planted_synonyms.py FOLDER [--words 100] [--seeds 3] [--json FILE] [KEY=VALUE...]

In Brown every occurrence of a planted word is, with probability one half, replaced by a twin that stands nowhere else.
Planted are words of letters with 100 to 500 occurrences in lower case, sampled with each seed. Vectors are trained by
`configs/pretraining/brown-skip-gram.yaml` with the settings KEY=VALUE; a twin is found if it is the nearest word, or
one of the 10 nearest, by cosine. FOLDER gets the texts and the runs.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from program import DATA, ROOT, lines_of, options, save
from program import regard as command

from regard.runs.embeddings import read_embeddings
from regard.text.vector_table import VectorTable

CONFIG = ROOT / "configs" / "pretraining" / "brown-skip-gram.yaml"
COUNTS = range(100, 501)
NEAREST = 10


def twin(word: str) -> str:
    return f"{word}qtwin"


def candidates(lines: Iterable[str]) -> list[str]:
    """Return the words that may be planted, in alphabetical order."""
    counted = Counter(word for line in lines for word in line.lower().split())
    return sorted(word for word, count in counted.items() if word.isalpha() and count in COUNTS)


def plant(lines: Iterable[str], words: Collection[str], generator: random.Random) -> list[str]:
    """Replace each occurrence of a word, with probability one half, by its twin."""

    def chosen(word: str) -> str:
        return twin(word.lower()) if word.lower() in words and generator.random() < 0.5 else word

    return [" ".join(map(chosen, line.split())) for line in lines]


def found(table: VectorTable, words: Iterable[str], count: int) -> int:
    """Count the words whose twin is among the `count` nearest."""
    return sum(twin(word) in [one.word for one in table.nearest(word, count)] for word in words)


def main() -> None:
    parser = options(__doc__, words=100, seeds=3)
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    asked = parser.parse_intermixed_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    lines, results = lines_of(DATA / "brown" / "brown.txt.gz"), []
    for seed in range(1, asked.seeds + 1):
        generator = random.Random(seed)
        words = generator.sample(candidates(lines), asked.words)
        text, run = asked.folder / f"{seed}.txt", asked.folder / f"run-{seed}"
        text.write_text("\n".join(plant(lines, set(words), generator)) + "\n", encoding="utf-8")
        files = [f"data.{part}.files.text={text.resolve()}" for part in ("train", "dev", "test")]
        command("train", CONFIG, "--run", run, "--quiet", *files, f"training.seed={seed}", *asked.settings)
        table = read_embeddings(run).table
        first, near = (found(table, words, count) / len(words) for count in (1, NEAREST))
        results.append({"seed": seed, "nearest": first, "of_10_nearest": near})
        print(f"seed {seed}: the nearest word {first:.1%}, one of the {NEAREST} nearest {near:.1%}", flush=True)
    save(asked.json, results)


if __name__ == "__main__":
    main()
