"""Word vectors beside gensim's: speed in turns, how many neighbours they share, and the loss of both by epoch.

    REGARD_DATA=PATH python benchmarks/word_vectors.py --gensim PYTHON [--rounds 3] [--epochs 5] [--json FILE]
    REGARD_DATA=PATH python benchmarks/word_vectors.py --gensim PYTHON --losses [--epochs 5] [--seed 1] [--json FILE]

PYTHON is an interpreter of an environment with gensim, which Regard does not need. Both read the training part of Brown
as the same words, one sentence a line, with the same settings: skip-gram, 100 numbers, window 5, 5 negatives, words of
5 times and more, the share .001, 5 epochs, a rate from .025 down to 0. Regard takes it for batches of 1,024 words, as
`configs/pretraining/brown-skip-gram.yaml` says. Lines are shuffled once for gensim, which keeps their order; Regard
shuffles in each epoch. Neighbours: of the 200 most frequent words, how many of the 10 nearest two systems have in
common. Seconds are those of training alone, without counting words.
--losses: nats of each word of the dev part with its negatives. After each epoch the peer writes both of its tables,
which are put into Regard's model: so both are judged by the same windows and the same negatives.
"""

import json
import random
import statistics
import subprocess
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from program import ROOT, lines_of, options, part_of, save
from program import regard as command

from regard.data import READERS
from regard.experiment import load_experiment
from regard.models.word_vectors import WordVectors
from regard.records import TEXT
from regard.runs import Assembled, Run
from regard.runs.embeddings import read_embeddings
from regard.text.clean import clean
from regard.text.uncased_words import cut_plain
from regard.text.vector_table import VectorTable

CONFIG = ROOT / "configs" / "pretraining" / "brown-skip-gram.yaml"
UPDATES = 802  # of an epoch
TOKENS = 8192  # of a batch of the dev part
WORDS, NEAREST = 200, 10
PEER = """
import sys, time
import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
path, out, seed, epochs, workers = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
given = {"vector_size": 100, "window": 5, "negative": 5, "sample": 1e-3, "min_count": 5, "sg": 1, "alpha": 0.025}

class Writer(CallbackAny2Vec):
    epoch = 0
    def on_epoch_end(self, model):
        self.epoch += 1
        words = np.array(model.wv.index_to_key)
        np.savez(f"{out}-{self.epoch}.npz", words=words, inputs=model.wv.vectors, outputs=model.syn1neg)

model = Word2Vec(**given, workers=workers, seed=seed)
lines = [line.split() for line in open(path, encoding="utf-8")]
model.build_vocab(lines)
start = time.perf_counter()
writers = [Writer()] if workers == 1 else []
model.train(lines, total_examples=model.corpus_count, epochs=epochs, callbacks=writers)
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


def gensim(python: str, lines: list[str], folder: Path, seed: int, epochs: int, workers: int = 2) -> tuple[float, Path]:
    """Seconds of the peer, and the file of its vectors; one worker writes both tables after each epoch beside it."""
    text, out = folder / f"gensim-{seed}.txt", folder / f"gensim-{seed}.bin"
    shuffled = random.Random(seed).sample(lines, len(lines))
    text.write_text("".join(f"{line}\n" for line in shuffled), encoding="utf-8")
    words = [python, "-c", PEER, *map(str, (text, out, seed, epochs, workers))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1]), out


def regard(folder: Path, seed: int, epochs: int, *changes: str) -> tuple[list[dict[str, Any]], Path]:
    """What a run of this package logs, and its folder."""
    run, updates = folder / f"regard-{seed}", UPDATES * epochs
    limits = [f"training.max_updates={updates}", f"training.schedule.updates={updates}", f"training.seed={seed}"]
    command("train", CONFIG, "--run", run, "--quiet", *limits, *changes)
    return [json.loads(line) for line in lines_of(run / "metrics.jsonl")], run


def overlap(one: VectorTable, other: VectorTable, words: list[str]) -> float:
    """The mean share of the nearest words that two tables have in common."""
    shared = [
        len({near.word for near in one.nearest(word, NEAREST)} & {near.word for near in other.nearest(word, NEAREST)})
        for word in words
    ]
    return sum(shared) / (NEAREST * len(words))


def loss(run: Assembled) -> float:
    """Nats of a word of the dev part."""
    examples = part_of(run.run, run.task, "dev")
    with torch.inference_mode():
        nats, words = run.task.losses(run.model, run.task.held(examples, TOKENS), examples).sum(axis=0)
    return float(nats / words)


def take(run: Assembled, tables: Path) -> None:
    """Put both tables of the peer into the model; words that it does not have are told."""
    found = np.load(tables)
    places = {word: place for place, word in enumerate(found["words"].tolist())}
    model = cast(WordVectors, run.model)
    names = enumerate(run.task.vocabularies[TEXT].named())
    known = [(number, places[name]) for number, name in names if name in places]
    if len(known) < len(places):
        print(f"{len(places) - len(known):,} words of gensim are not in the run's vocabulary")
    ours, theirs = (list(one) for one in zip(*known, strict=True))
    with torch.no_grad():
        model.embedder.get_parameter("table")[ours] = torch.from_numpy(found["inputs"][theirs])
        model.outputs[ours] = torch.from_numpy(found["outputs"][theirs])


def losses(python: str, lines: list[str], folder: Path, seed: int, epochs: int) -> dict[str, list[float]]:
    """The loss of both after each epoch."""
    rows, path = regard(folder, seed, epochs)
    own, run = [row["loss"] for row in rows if row["event"] == "validation"], Run.open(path).assembled()
    if abs(loss(run) - min(own)) > 1e-3:
        raise SystemExit(f"{loss(run)} is not the run's own figure, {min(own)}")
    _, out = gensim(python, lines, folder, seed, epochs, workers=1)
    found: dict[str, list[float]] = {"regard": own, "gensim": []}
    for epoch in range(1, epochs + 1):
        take(run, Path(f"{out}-{epoch}.npz"))
        found["gensim"].append(loss(run))
    return found


def races(python: str, lines: list[str], folder: Path, rounds: int, epochs: int) -> dict[str, object]:
    """Speeds in turns, and neighbours shared by two systems and by two seeds of one."""
    count = sum(len(line.split()) for line in lines) * epochs
    seconds: dict[str, list[float]] = {"gensim": [], "regard": []}
    tables: dict[str, list[VectorTable]] = {"gensim": [], "regard": []}
    for seed in range(1, rounds + 1):
        for system in ("gensim", "regard"):
            if system == "gensim":
                spent, path = gensim(python, lines, folder, seed, epochs)
            else:
                rows, path = regard(folder, seed, epochs, "data.dev=null", "data.dev_fraction=0")
                spent = max(row["seconds"] for row in rows)
            seconds[system].append(spent)
            tables[system].append(read_embeddings(path).table)
            print(f"round {seed}: {system} {count / spent:,.0f} words/s", flush=True)
    words = [word for word in tables["gensim"][0].words if word in tables["regard"][0]][:WORDS]
    shared = {
        system: statistics.mean([overlap(a, b, words) for a, b in combinations(some, 2)] or [1.0])
        for system, some in tables.items()
    }
    shared["both"] = statistics.mean(overlap(a, b, words) for a in tables["gensim"] for b in tables["regard"])
    speeds = {system: count / statistics.median(some) for system, some in seconds.items()}
    return {"words_per_second": speeds, "seconds": seconds, "neighbours_shared": shared}


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, rounds=3, epochs=5, seed=1)
    parser.add_argument("--gensim", required=True, metavar="PYTHON")
    parser.add_argument("--losses", action="store_true", help="in place of speed and neighbours")
    given = parser.parse_args()
    lines = sentences()
    with tempfile.TemporaryDirectory() as name:
        found: dict[str, object] = (
            dict(losses(given.gensim, lines, Path(name), given.seed, given.epochs))
            if given.losses
            else races(given.gensim, lines, Path(name), given.rounds, given.epochs)
        )
    print(json.dumps(found, indent=1))
    save(given.json, found)


if __name__ == "__main__":
    main()
