"""Word vectors beside gensim's: speed in turns, and how many neighbours they share.

    REGARD_DATA=PATH python benchmarks/word_vectors.py --gensim PYTHON [--rounds 3] [--epochs 5] [--json FILE]

PYTHON is an interpreter of an environment with gensim, which Regard does not need. Both read the training part of Brown
as the same words, one sentence a line, with the same settings: skip-gram, 100 numbers, window 5, 5 negatives, words of
5 times and more, the share .001, 5 epochs, a rate from .025 down to 0. Regard takes it for batches of 1,024 words, as
`configs/pretraining/brown-skip-gram.yaml` says. Lines are shuffled once for gensim, which keeps their order; Regard
shuffles in each epoch. Neighbours: of the 200 most frequent words, how many of the 10 nearest two systems have in
common. Seconds are those of training alone, without counting words.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from regard.data import READERS
from regard.experiment import load_experiment
from regard.runs.embeddings import read_embeddings
from regard.text.clean import clean
from regard.text.uncased_words import cut_plain
from regard.text.vector_table import VectorTable

CONFIG = Path(__file__).parents[1] / "configs" / "pretraining" / "brown-skip-gram.yaml"
WORDS, NEAREST = 200, 10
PEER = """
import sys, time
from gensim.models import Word2Vec
path, out, seed, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
given = {"vector_size": 100, "window": 5, "negative": 5, "sample": 1e-3, "min_count": 5, "sg": 1, "alpha": 0.025}
model = Word2Vec(**given, workers=2, seed=seed)
lines = [line.split() for line in open(path, encoding="utf-8")]
model.build_vocab(lines)
start = time.perf_counter()
model.train(lines, total_examples=model.corpus_count, epochs=epochs)
print(time.perf_counter() - start)
model.wv.save_word2vec_format(out, binary=True)
"""


def sentences() -> list[str]:
    """The training part of Brown, words with a space between them."""
    choice = load_experiment(CONFIG, []).reader("train")
    if choice is None:
        raise SystemExit(f"{CONFIG} names no training part")
    reader = READERS.build(choice, ("text",))
    return ["".join(cut_plain(clean(example.texts["text"]))).strip() for example in reader]


def gensim(python: str, lines: list[str], folder: Path, seed: int, epochs: int) -> tuple[float, VectorTable]:
    """Seconds and vectors of the peer."""
    text, out = folder / f"gensim-{seed}.txt", folder / f"gensim-{seed}.bin"
    shuffled = random.Random(seed).sample(lines, len(lines))
    text.write_text("".join(f"{line}\n" for line in shuffled), encoding="utf-8")
    command = [python, "-c", PEER, str(text), str(out), str(seed), str(epochs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1]), read_embeddings(out).table


def regard(folder: Path, seed: int, epochs: int) -> tuple[float, VectorTable]:
    """Seconds and vectors of this package, without validations."""
    run = folder / f"regard-{seed}"
    updates = 802 * epochs
    limits = [f"training.max_updates={updates}", f"training.schedule.updates={updates}", "data.dev=null"]
    words = [str(CONFIG), "--run", str(run), f"training.seed={seed}", *limits, "data.dev_share=0"]
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    subprocess.run([sys.executable, "-m", "regard", "train", *words], env=variables, capture_output=True, check=True)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return max(row["seconds"] for row in rows), read_embeddings(run).table


def overlap(one: VectorTable, other: VectorTable, words: list[str]) -> float:
    """The mean share of the nearest words that two tables have in common."""
    shared = [
        len({near.word for near in one.nearest(word, NEAREST)} & {near.word for near in other.nearest(word, NEAREST)})
        for word in words
    ]
    return sum(shared) / (NEAREST * len(words))


def main() -> None:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gensim", required=True, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    lines = sentences()
    count = sum(len(line.split()) for line in lines) * given.epochs
    seconds: dict[str, list[float]] = {"gensim": [], "regard": []}
    tables: dict[str, list[VectorTable]] = {"gensim": [], "regard": []}
    with tempfile.TemporaryDirectory() as name:
        for seed in range(1, given.rounds + 1):
            for system, done in (
                ("gensim", gensim(given.gensim, lines, Path(name), seed, given.epochs)),
                ("regard", regard(Path(name), seed, given.epochs)),
            ):
                seconds[system].append(done[0])
                tables[system].append(done[1])
                print(f"round {seed}: {system} {count / done[0]:,.0f} words/s", flush=True)
    words = [word for word in tables["gensim"][0].words if word in tables["regard"][0]][:WORDS]
    speeds = {system: count / statistics.median(some) for system, some in seconds.items()}
    shared = {
        system: statistics.mean([overlap(a, b, words) for a, b in combinations(some, 2)] or [1.0])
        for system, some in tables.items()
    }
    shared["both"] = statistics.mean(overlap(a, b, words) for a in tables["gensim"] for b in tables["regard"])
    found = {"words_per_second": speeds, "seconds": seconds, "neighbours_shared": shared}
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
