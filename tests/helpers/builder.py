"""Builds a corpus in a process of its own, which may die on the way or wait for others: see test_corpus.py."""

import argparse
import json
import os
import signal
import time
from pathlib import Path

from letters import Letters  # beside this script

from regard.data import sealed
from regard.data.corpus import Corpus
from regard.data.readers import READERS
from regard.registry import Choice


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def meet(folder: Path, count: int) -> None:
    """Waits until `count` processes have come here."""
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < count:
        time.sleep(0.001)


parser = argparse.ArgumentParser()
parser.add_argument("cache", type=Path)
parser.add_argument("source")
parser.add_argument("target")
parser.add_argument("--die-at", choices=["encode", "seal", "publish"])
parser.add_argument("--meet", nargs=2)
arguments = parser.parse_args()
tokenizer = Letters()
if arguments.die_at == "encode":
    tokenizer.encode_batch = die
elif arguments.die_at is not None:
    setattr(sealed, arguments.die_at, die)
others = (lambda _: meet(Path(arguments.meet[0]), int(arguments.meet[1]))) if arguments.meet else None
files = {"source": arguments.source, "target": arguments.target}
reader = READERS.build(Choice("parallel", {"files": files}), tuple(files))
corpus = Corpus.open(reader, dict.fromkeys(files, tokenizer), arguments.cache, progress=others)
print(json.dumps({"key": corpus.key, "texts": [corpus.text("source", line) for line in range(len(corpus))]}))
