"""Trainings that the forecast is calibrated by, and the calibration.

A network is `regard train` without any setting but a limit of processor time, on one thread, judged by dev lines.
Phrases are `task=phrases`, judged by test lines, since they are tuned on the dev lines. Both is `regard tune PHRASES
decoding.rerank.run=NETWORK`. A curve are untuned phrases of 250, 500 … pairs; unpaired is word-by-word translation.

    python benchmarks/forecast_trainings.py multi30k/en-de:1000:2 tatoeba_en-es/en-es:5000:phrases
    python benchmarks/forecast_trainings.py multi30k/en-de:16000:curve multi30k/en-de:29000:unpaired
    python benchmarks/forecast_trainings.py --fit
"""

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from forecast_calibration import calibrate
from program import DATA, lines_of, options, regard

from regard.config import quoted
from regard.errors import RegardError
from regard.evaluation import METRICS
from regard.experiment import read_experiment
from regard.recipes.no_pairs import word_by_word
from regard.registry import Choice
from regard.reports.data_check.check_data import read_text_pairs
from regard.reports.forecast.coefficients import FORECAST_SCORES
from regard.reports.forecast.forecast import EVALUATED_LINES, pairs_facts, pilot_fit
from regard.reports.forecast.unpaired import identical_dictionary, texts_facts, word_space
from regard.text.words import cut_words

TABLE = Path(__file__).with_suffix(".jsonl")
DEV_LINES = TEST_LINES = 500
PARTS = {"multi30k": ("val", "test2016")}


class Training(NamedTuple):
    """What is trained: pairs of a data set, and how."""

    data: str
    source: str
    target: str
    pairs: int
    how: str  # core minutes of a network, or a row of MEASURES

    @classmethod
    def of(cls, name: str) -> "Training":
        """Read SET/SOURCE-TARGET:PAIRS:HOW."""
        data, source, target, pairs, how = re.fullmatch(r"(\S+)/(\w+)-(\w+):(\d+):(\S+)", name).groups()  # type: ignore[union-attr]  # a wrong name ends the program
        return cls(data, source, target, int(pairs), how)

    def __str__(self) -> str:
        return f"{self.data}/{self.source}-{self.target}:{self.pairs}:{self.how}"

    def folder(self, home: Path) -> Path:
        """Return the run."""
        return home / "runs" / re.sub(r"[/:]", "_", str(self))

    def files(self, home: Path) -> dict[str, Path]:
        """Write pairs drawn at random, dev and test lines; return the files by part and side."""
        found, dev, test = dict[str, Path](), *PARTS.get(self.data, ("dev", "test"))
        for part, name, limit in (("train", "train", self.pairs), ("dev", dev, DEV_LINES), ("test", test, TEST_LINES)):
            codes = {"source": self.source, "target": self.target}
            rows = [*zip(*(lines_of(DATA / self.data / f"{name}.{code}.gz") for code in codes.values()), strict=True)]
            random.Random(1).shuffle(rows)
            for side, lines in zip(codes, zip(*rows[:limit], strict=True), strict=True):
                place = home / "texts" / f"{re.sub('[/:]', '_', str(self).rpartition(':')[0])}.{part}.{codes[side]}"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                found[f"{part}.{side}"] = place
        return found


def main() -> None:
    """Train what is named and not in the table yet, one after another, appending a line for each; or fit."""
    parser = options(__doc__)
    parser.add_argument("trainings", nargs="*", metavar="SET/SOURCE-TARGET:PAIRS:HOW")
    parser.add_argument("--folder", type=Path, default=Path("runs/forecast"), help="where texts and runs go")
    parser.add_argument("--table", type=Path, default=TABLE, help="JSON lines of what was measured")
    parser.add_argument("--fit", action="store_true", help="write the calibration, and print forecasts and results")
    asked = parser.parse_args()
    for training in map(Training.of, asked.trainings):
        if str(training) not in {one["name"] for one in read_rows(asked.table)}:
            shutil.rmtree(training.folder(asked.folder), ignore_errors=True)  # what was interrupted
            try:
                found = MEASURES.get(training.how, network)(training, asked.folder)
            except (subprocess.CalledProcessError, RegardError) as error:  # such as a limit that is refused
                print(f"{training}: {error}", flush=True)
                continue
            with asked.table.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": str(training), **found}) + "\n")
            print(training, found, flush=True)
    if asked.fit:
        calibrate(read_rows(asked.table), asked.json)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the values of a file of JSON lines; none where there is no file."""
    return [*map(json.loads, path.read_text(encoding="utf-8").splitlines())] if path.exists() else []


def facts(training: Training, files: dict[str, Path], *limits: str) -> dict[str, Any]:
    """Measure pairs as a forecast does before anything is trained."""
    named = [f"data.train.{side}={quoted(str(files[f'train.{side}']))}" for side in ("source", "target")]
    experiment = read_experiment(None, [*named, *limits], say=lambda line: None)
    pairs, dev = (read_text_pairs([files[f"{part}.source"], files[f"{part}.target"]]) for part in ("train", "dev"))
    found = pairs_facts(experiment, pairs, dev)
    return {**found._asdict(), "fits": [one._asdict() for one in found.fits]}


def network(training: Training, home: Path) -> dict[str, Any]:
    """Train a network; return its best dev scores, those of each validation, and what was known before."""
    run, files = training.folder(home), training.files(home)
    limit = f"training.max_core_minutes={training.how}"
    known = facts(training, files, limit)
    train(run, files, limit, "data.test_fraction=0")
    events = read_rows(run / "metrics.jsonl")
    validations = [one for one in events if one["event"] == "validation"]
    best = max(validations, key=lambda one: one["bleu"])
    curve = [[one["update"], one["core_seconds"], round(one["bleu"], 3), round(one["chrf"], 3)] for one in validations]
    last = max(events, key=lambda one: one["update"])
    figures = {"bleu": best["bleu"], "chrf": best["chrf"], "updates": last["update"]}
    return {**figures, "core_seconds": last["core_seconds"], "facts": known, "curve": curve}


def phrases(training: Training, home: Path) -> dict[str, Any]:
    """Count and tune phrases; return scores of the test lines, those of untuned phrases, and seconds of a core."""
    run, files = training.folder(home), training.files(home)
    known = facts(training, files, "training.max_core_minutes=1")
    start = os.times()
    train(run, files, "task=phrases", "data.test_fraction=0")
    end = os.times()
    seconds = end.children_user + end.children_system - start.children_user - start.children_system
    texts = [read_text_pairs([files[f"{part}.source"], files[f"{part}.target"]]) for part in ("train", "test")]
    untuned = pilot_fit(*texts)
    return {**scores(run, files), "core_seconds": seconds, "facts": known, "untuned": untuned._asdict()}


def both(training: Training, home: Path) -> dict[str, Any]:
    """Find weights of phrases and the longest network of the same pairs; return scores of the test lines for all."""
    files = training.files(home)
    prefix = re.sub(r"[/:]", "_", str(training).rpartition(":")[0])
    networks = [one for one in (home / "runs").glob(f"{prefix}_*") if one.name.rpartition("_")[2][0].isdigit()]
    other = max(networks, key=lambda one: float(one.name.rpartition("_")[2]))
    run = training._replace(how="phrases").folder(home)
    regard("tune", run, f"decoding.rerank.run={other}", "--n-best", 50, "--lines", 300, "--minutes", 3,
           OMP_NUM_THREADS="1")  # fmt: skip
    alone, joined = scores(run, files), scores(run, files, "decoding.tuned=true")
    return {**joined, "phrases": alone, "network": scores(other, files)}


def curve(training: Training, home: Path) -> dict[str, Any]:
    """Fit phrases to 250 pairs, twice as many, and so on; return the scores of dev lines."""
    files = training.files(home)
    pairs, dev = (read_text_pairs([files[f"{part}.source"], files[f"{part}.target"]]) for part in ("train", "dev"))
    sizes = [250 * 2**step for step in range(10) if 250 * 2**step <= len(pairs)]
    return {"fits": [pilot_fit(pairs[:size], dev[:EVALUATED_LINES])._asdict() for size in sizes]}


def unpaired(training: Training, home: Path) -> dict[str, Any]:
    """Translate word by word by a dictionary of two halves of the pairs that share no line; return scores and facts."""
    files = training.files(home)
    pairs, dev = (read_text_pairs([files[f"{part}.source"], files[f"{part}.target"]]) for part in ("train", "dev"))
    middle = len(pairs) // 2
    halves = [one.source for one in pairs[:middle]], [one.target for one in pairs[middle:]]
    words, _ = identical_dictionary(*(word_space([*map(cut_words, half)]) for half in halves))
    texts = ["".join(word_by_word(cut_words(one.source), words)).strip() for one in dev]
    found = {
        name: METRICS.build(Choice(name)).score(texts, [one.target for one in dev]).value for name in FORECAST_SCORES
    }
    return {**found, "facts": texts_facts(*halves)._asdict()}


def train(run: Path, files: dict[str, Path], *changes: str) -> None:
    """Train a run."""
    words = [word for name, path in files.items() if not name.startswith("test")
             for word in (f"--{name.removeprefix('train.').replace('.', '-')}", path)]  # fmt: skip
    regard("train", *words, "--run", run, "-q", *changes, OMP_NUM_THREADS="1")


def scores(run: Path, files: dict[str, Path], *changes: str) -> dict[str, float]:
    """Return BLEU and chrF of the test lines."""
    told = json.loads(regard("evaluate", run, "--source", files["test.source"], "--target", files["test.target"],
                             "--json", *changes, OMP_NUM_THREADS="1"))  # fmt: skip
    (system,) = told["systems"]
    found = {one["name"].lower(): one["value"] for one in system["scores"]}
    return {name: found[name] for name in ("bleu", "chrf")}


MEASURES = {"phrases": phrases, "both": both, "curve": curve, "unpaired": unpaired}

if __name__ == "__main__":
    main()
