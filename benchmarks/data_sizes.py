"""The learning curve of a neural and a phrase-based translator on the same pairs (F12).

    python benchmarks/data_sizes.py FOLDER
    python benchmarks/data_sizes.py FOLDER --pairs 1000 5000 --minutes 3 5 --picture curve.png

The first pairs of Multi30k, English to German; both systems have its dev part, and are judged by test2016. The network
has the size that `regard train` gives so many pairs, and `--minutes` of one core for each of them. Runs that are in
FOLDER are only judged, so a command that was stopped goes on, and `--systems` may take one after the other.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections import defaultdict
from itertools import islice
from pathlib import Path

import plots

DATA = Path(os.environ.get("REGARD_DATA", "data")) / "multi30k"
CONFIG = "configs/translation/multi30k-phrases.yaml"
SIDES = {"source": "en", "target": "de"}
PARTS = {"dev": "val", "test": "test2016"}
METRICS = ("BLEU", "chrF")
SYSTEMS = ("phrases", "network")

Score = tuple[float, float, float]  # with its interval


def files(folder: Path, pairs: int) -> list[str]:
    """Changes that name the texts, the first `pairs` of which are written to the folder."""
    changes = []
    for side, language in SIDES.items():
        path = folder / f"train{pairs}.{language}"
        with gzip.open(DATA / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
            path.write_text("".join(islice(file, pairs)), encoding="utf-8")
        changes.append(f"data.train.{side}={path}")
        changes += [f"data.{part}.{side}={DATA}/{name}.{language}.gz" for part, name in PARTS.items()]
    return changes


def trained(run: Path, words: list[str]) -> Path:
    """The run, trained unless it is there."""
    if not (run / "final.json").exists():
        regard("train", *words, f"run={run}", "--quiet")
    return run


def regard(*words: str) -> str:
    """What a command prints."""
    return subprocess.run([sys.executable, "-m", "regard", *words], check=True, capture_output=True, text=True).stdout


def scores(run: Path) -> list[Score]:
    """Those of the test part by each of METRICS."""
    [system] = json.loads(regard("evaluate", str(run), "--json"))["systems"]
    found = {one["name"]: one for one in system["scores"]}
    return [(found[name]["value"], *found[name]["interval"]) for name in METRICS]


def cell(score: Score) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*score)


def words(system: str, texts: list[str], minutes: float) -> list[str]:
    """What trains a system on texts."""
    if system == "phrases":
        return [CONFIG, *texts, "data.languages=[en,de]", "task.rounds=3"]
    return [*texts, f"training.max_core_minutes={minutes}", "training.learning_rate=0.003"]


def main() -> None:
    """Prints a row of a table for each number of pairs and each system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 5000, 29000])
    parser.add_argument("--minutes", type=float, nargs="+", default=[3, 5, 20], help="of one core, for each of --pairs")
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--picture", type=Path, help="BLEU over pairs, drawn to this file")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"| pairs | system | {' | '.join(METRICS)} |\n|---:|---|---:|---:|")
    points = defaultdict[str, list[list[float]]](list)
    for pairs, minutes in zip(given.pairs, given.minutes, strict=True):
        texts = files(given.folder, pairs)
        for name in given.systems:
            row = scores(trained(given.folder / f"{name}{pairs}", words(name, texts, minutes)))
            points[name].append([pairs, row[0][0]])
            print(f"| {pairs:,} | {name} | {' | '.join(map(cell, row))} |", flush=True)
    if given.picture:
        curve = {"title": "Multi30k, test2016", "x": "pairs", "y": METRICS[0], "scale": "log", "points": points}
        plots.draw("data_sizes", {"curves": [curve]}, given.picture)


if __name__ == "__main__":
    main()
