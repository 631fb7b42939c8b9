"""The common ground of the benchmarks: the shipped Multi30k config, its texts or made-up ones, the command line.

A folder is prepared once as a run folder is, with settings and a tokenizer; contenders read it in their processes.
"""

import argparse
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from program import ROOT, options

from regard.decoding.shortlist import SHORTLIST_FILE
from regard.experiment import read_experiment
from regard.runs import Run, RunFolder
from regard.runs.lexicons import learn_shortlist
from regard.runs.texts import learn_run_columns, training_readers

CONFIG = ROOT / "configs" / "translation" / "multi30k-transformer.yaml"
SIZES = {  # settings on top of the shipped config
    "S": [],
    "B": [
        "model.dim=512",
        "model.dropout=0.1",
        *(f"model.{part}={{num_layers: 3, feedforward_dim: 2048}}" for part in ("encoder", "decoder")),
        *(f"model.{part}.num_heads=8" for part in ("attention", "self_attention")),
    ],
}
PARTS = {"train": 29000, "val": 1014, "test2016": 1000}  # sentence pairs
WORDS, MEAN, SPREAD, LONGEST = 30000, 12.0, 3.8, 40  # Multi30k: distinct words; words in a sentence
TARGET_RATIO, TARGET_SPREAD = 0.93, 1.8  # a target's length given its source's: correlated by 0.88


def parser_of(text: str | None, **numbers: float) -> argparse.ArgumentParser:
    """The options of a benchmark of the shipped model: numbers with their defaults, and changes of its settings."""
    parser = options(text, rounds=5, **numbers, threads=torch.get_num_threads())
    parser.add_argument("changes", nargs="*", help="settings of the model, as of regard train: model.dim=512")
    return parser


def with_shortlist(path: Path) -> RunFolder:
    """A trained run, which learns its shortlist if it has none."""
    run = RunFolder(path)
    if not (path / SHORTLIST_FILE).exists():
        learn_shortlist(Run.open(run), say=print)
    return run


def prepare(folder: Path, changes: list[str], say: Callable[[str], None] = print) -> RunFolder:
    """A run folder with settings and a tokenizer, no model yet. Multi30k is read from the folder REGARD_DATA names."""
    if not (Path(os.environ.get("REGARD_DATA", "")) / "multi30k").is_dir():
        say("REGARD_DATA names no folder with multi30k: measured on made-up words of the same lengths")
        _make_up(folder / "texts" / "multi30k")
        changes = [*changes, f"data.dir={folder / 'texts'}"]
    run = RunFolder(folder / "run")
    experiment = read_experiment(CONFIG, [*changes, f"run={run.path}"])
    with run.created(), run.preparing(experiment):
        learn_run_columns(experiment, run, say)
    files = [file.name for reader in training_readers(experiment).values() for file in reader.files]
    say(f"data: {', '.join(files)}")
    return run


def _make_up(folder: Path) -> None:
    """Files named as Multi30k's; words by Zipf's law, as many in a sentence as there."""
    folder.mkdir(parents=True)
    draws = np.random.default_rng(1)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(draws.choice(syllables, draws.integers(1, 5))) for _ in range(WORDS)]
    odds = 1 / np.arange(1, WORDS + 1)
    for part, count in PARTS.items():
        sources = np.clip(draws.gamma((MEAN / SPREAD) ** 2, SPREAD**2 / MEAN, count).round(), 3, LONGEST)
        targets = np.clip((sources * TARGET_RATIO + draws.normal(0, TARGET_SPREAD, count)).round(), 1, LONGEST)
        for language, lengths in (("en", sources), ("de", targets)):
            picked = iter(draws.choice(WORDS, int(lengths.sum()), p=odds / odds.sum()).tolist())
            with gzip.open(folder / f"{part}.{language}.gz", "wt", encoding="utf-8", newline="\n") as file:
                file.writelines(" ".join(words[next(picked)] for _ in range(int(length))) + "\n" for length in lengths)
