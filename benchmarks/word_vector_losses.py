"""The loss curve of word vectors beside gensim's: nats of each word of Brown's dev part with its negatives, by epoch.

    REGARD_DATA=PATH python benchmarks/word_vector_losses.py --gensim PYTHON [--epochs 5] [--seed 1] [--json FILE]

PYTHON is an interpreter of an environment with gensim. Text and settings are those of `word_vectors.py`. After each
epoch the peer writes both of its tables, which are put into Regard's model: so both are judged by the same windows and
the same negatives.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

import numpy as np
import torch
from word_vectors import CONFIG, sentences

from regard.models.word_vectors import WordVectors
from regard.records import TEXT
from regard.runs import Assembled, Run
from regard.runs.texts import dev_examples

UPDATES = 802  # of an epoch
TOKENS = 8192  # of a batch
PEER = """
import sys
import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
path, out, seed, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
given = {"vector_size": 100, "window": 5, "negative": 5, "sample": 1e-3, "min_count": 5, "sg": 1, "alpha": 0.025}

class Writer(CallbackAny2Vec):
    epoch = 0
    def on_epoch_end(self, model):
        self.epoch += 1
        words = np.array(model.wv.index_to_key)
        np.savez(f"{out}-{self.epoch}.npz", words=words, inputs=model.wv.vectors, outputs=model.syn1neg)

lines = [line.split() for line in open(path, encoding="utf-8")]
model = Word2Vec(**given, workers=1, seed=seed)
model.build_vocab(lines)
model.train(lines, total_examples=model.corpus_count, epochs=epochs, callbacks=[Writer()])
"""


def trained_by_gensim(python: str, folder: Path, seed: int, epochs: int) -> list[Path]:
    """Both tables of the peer after each epoch."""
    text, lines = folder / "text", sentences()
    text.write_text("".join(f"{line}\n" for line in random.Random(seed).sample(lines, len(lines))), encoding="utf-8")
    subprocess.run([python, "-c", PEER, str(text), str(folder / "peer"), str(seed), str(epochs)], check=True)
    return [folder / f"peer-{epoch}.npz" for epoch in range(1, epochs + 1)]


def trained_by_regard(run: Path, seed: int, epochs: int) -> list[float]:
    """The loss of the dev part after each epoch, as the run has written it down."""
    updates = UPDATES * epochs
    limits = [f"training.max_updates={updates}", f"training.schedule.updates={updates}", f"training.seed={seed}"]
    words = [sys.executable, "-m", "regard", "train", str(CONFIG), "--run", str(run), *limits]
    subprocess.run(words, env=os.environ, capture_output=True, check=True)
    rows = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [row["loss"] for row in rows if row["event"] == "validation"]


def loss(run: Assembled) -> float:
    """Nats of a word of the dev part."""
    examples = dev_examples(run.run.experiment, run.task, print)
    if examples is None:
        raise SystemExit(f"{CONFIG} names no dev part")
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


def main() -> None:
    """Train both, judge both and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gensim", required=True, metavar="PYTHON")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = trained_by_regard(folder / "run", given.seed, given.epochs)
        run, peer = Run.open(folder / "run").assembled(), list[float]()
        if abs(loss(run) - min(own)) > 1e-3:
            raise SystemExit(f"{loss(run)} is not the run's own figure, {min(own)}")
        for tables in trained_by_gensim(given.gensim, folder, given.seed, given.epochs):
            take(run, tables)
            peer.append(loss(run))
    for epoch, (one, other) in enumerate(zip(own, peer, strict=True), start=1):
        print(f"epoch {epoch}: Regard {one:.2f}, gensim {other:.2f} nats")
    if given.json:
        given.json.write_text(json.dumps({"regard": own, "gensim": peer}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
