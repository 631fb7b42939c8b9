"""One model of several languages against a model for each, from few pairs (F11), and a language that is added later.

    python benchmarks/several_languages.py FOLDER
    python benchmarks/several_languages.py FOLDER --texts same --updates 1000 --dropout 0.2 --validations 3

Pairs of Multi30k from English to German, French and Czech, of other sentences in each language unless `--texts same`
takes the same ones; a language has `--updates` batches in all systems, so a model of three languages has three times as
many. All are judged by test2016. Czech is added to a model of German and French, without any more German and French.
Runs that are in FOLDER are only judged, so a command that was stopped goes on.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

DATA = Path(os.environ.get("REGARD_DATA", "data")) / "multi30k"
LANGUAGES = ("de", "fr", "cs")
PARTS = {"dev": "val", "test": "test2016"}
WARMUP, PEAK = 200, 0.005  # updates of each language; the learning rate that they rise to
SETTINGS = [
    "text={tokenizer: {name: subwords, size: 3000}, shared: false}",
    "objective={name: likelihood, label_smoothing: 0.1}",
    "training.batch_tokens=1024", f"training.learning_rate={PEAK}",
    "training.validate_lines=300", "training.patience=null",
    "training.average=1", "model.tied=target",
]  # fmt: skip


class Size(NamedTuple):
    """How large the networks are, and how they are trained."""

    dim: int
    layers: int
    updates: int  # of each language
    dropout: float = 0.3
    validations: int = 8  # evenly spread; the best one is kept
    seed: int = 1
    fall: int = 0  # more updates of each language, in which the rate falls to 0

    def settings(self) -> list[str]:
        """Of a network."""
        stack = f"{{name: transformer, num_layers: {self.layers}, feedforward_dim: {2 * self.dim}}}"
        parts = [f"model.dim={self.dim}", f"model.encoder={stack}", f"model.decoder={stack}"]
        return [*parts, f"model.dropout={self.dropout}", f"training.seed={self.seed}"]

    def limits(self, languages: int) -> list[str]:
        """Of the training of so many languages; the rate falls as fast for a decoder in every system."""
        total = self.updates * languages
        often = f"training.validate_every={max(1, total // self.validations)}"
        schedule = f"training.schedule={{name: inverse_sqrt, warmup: {WARMUP * languages}}}"
        return [f"training.max_updates={total}", often, schedule]

    def falling(self, languages: int) -> list[str]:
        """Of the same training that goes on: from the rate that it has come to, in a line to 0."""
        total, reached = self.updates + self.fall, PEAK * math.sqrt(WARMUP / self.updates)
        line = f"training.schedule={{name: linear, updates: {total * languages}}}"
        return [
            f"training.max_updates={total * languages}",
            f"training.learning_rate={reached * total / self.fall:.6f}",
            line,
        ]


class System(NamedTuple):
    """A run: what it is trained on, and what it is judged by."""

    name: str
    row: str  # of MODELS
    trained: Sequence[str]  # languages, of which the first is that of data.train
    judged: Sequence[str] = ()  # languages that are not trained on
    settings: Sequence[str] = ()


PIECES = ["text.tokenizer.size=6000"]
ONE_SIDE = [*PIECES, "text.own_vocabularies=[]"]  # languages share the pieces of the target side
SYSTEMS = (
    *(System(f"single-{one}", "translator", [one]) for one in LANGUAGES),
    *(System(f"single-6000-{one}", "translator", [one], settings=PIECES) for one in LANGUAGES),
    System("one_to_many", "one_to_many", LANGUAGES),
    System("one_to_many-6000", "one_to_many", LANGUAGES, settings=ONE_SIDE),
    System("many_to_many", "many_to_many", LANGUAGES, settings=PIECES),
    System("two", "one_to_many", LANGUAGES[:2]),
    System("added-frozen", "one_to_many", ["cs"], LANGUAGES[:2], ["init={run: RUNS/two, frozen: true}"]),
    System("added-free", "one_to_many", ["cs"], LANGUAGES[:2], ["init={run: RUNS/two}"]),
    System("two-shared", "one_to_many", LANGUAGES[:2], settings=["text.own_vocabularies=[]"]),
    System(
        "added-spelt",
        "one_to_many",
        ["cs"],
        LANGUAGES[:2],
        ["init={run: RUNS/two-shared, frozen: true}", "text.own_vocabularies=[]"],
    ),
)


def written(folder: Path, pairs: int, *, different: bool) -> None:
    """Writes pairs of every language to the folder: the first ones, or `different` ones, one part behind the other."""
    for place, language in enumerate(LANGUAGES):
        start = place * pairs if different else 0
        for code in ("en", language):
            with gzip.open(DATA / f"train.{code}.gz", "rt", encoding="utf-8", newline="\n") as file:
                lines = "".join(islice(file, start, start + pairs))
            (folder / f"train-{language}.{code}").write_text(lines, encoding="utf-8")


def texts(folder: Path, system: System) -> list[str]:
    """Changes that name the texts of a system: data.train is of the first language, each other one has a route."""
    first, *others = [*system.trained, *system.judged]
    changes = []
    for language in (first, *others):
        place = "data" if language == first else f"data.routes.{language}"
        for part, name in {"train": "", **PARTS}.items():
            if part == "train" and language in system.judged:
                continue
            for side, code in {"source": "en", "target": language}.items():
                file = DATA / f"{name}.{code}.gz" if name else folder / f"train-{language}.{code}"
                changes.append(f"{place}.{part}.{side}={file}")
    return changes


def words_of(folder: Path, system: System, size: Size) -> list[str]:
    """The settings of a system of a size."""
    names = [one for one in LANGUAGES if one in (*system.trained, *system.judged)]
    several = [] if system.row == "translator" else [f"model.languages=[{','.join(names)}]"]
    weights = {name: 1 for name in ("train", *system.trained[1:])}
    shares = [f"data.weights={json.dumps(weights)}"] if len(weights) > 1 else []
    own = [one.replace("RUNS", str(folder)) for one in system.settings]
    return [
        f"model.name={system.row}",
        *several,
        *size.settings(),
        *SETTINGS,
        *texts(folder, system),
        *shares,
        *size.limits(len(system.trained)),
        *own,
    ]


def regard(*words: str) -> str:
    """What a command prints."""
    return subprocess.run([sys.executable, "-m", "regard", *words], check=True, capture_output=True, text=True).stdout


def bleu(run: Path, route: str | None) -> Mapping[str, float]:
    """BLEU of the test part of a route, with the ends of its interval."""
    changes = [] if route is None else [f"decoding.route={route}"]
    [system] = json.loads(regard("evaluate", str(run), *changes, "--json"))["systems"]
    found = {one["name"]: one for one in system["scores"]}["BLEU"]
    low, high = found["interval"]
    return {"value": found["value"], "low": low, "high": high}


def updates_of(run: Path) -> int:
    """How many updates a run has had."""
    *_, last = (run / "metrics.jsonl").read_text("utf-8").splitlines()
    found: int = json.loads(last)["update"]
    return found


def judged(folder: Path, system: System, size: Size) -> Mapping[str, Mapping[str, float]]:
    """The scores of a system by language; trains and judges what is not there yet."""
    run, kept = folder / system.name, folder / f"{system.name}.json"
    if kept.exists():
        found: Mapping[str, Mapping[str, float]] = json.loads(kept.read_text("utf-8"))
        return found
    if not (run / "final.json").exists():
        begun = ["--run", str(run), "--resume"] if (run / "experiment.yaml").exists() else [f"run={run}"]
        regard("train", *([] if "--resume" in begun else words_of(folder, system, size)), *begun, "--quiet")
    count = len(system.trained)
    if size.fall and updates_of(run) < (size.updates + size.fall) * count:
        regard("train", "--run", str(run), "--resume", *size.falling(count), "--quiet")
    named = [None] if system.row == "translator" else [*system.trained, *system.judged]
    scores = {route or system.trained[0]: bleu(run, route) for route in named}
    kept.write_text(json.dumps(scores), encoding="utf-8")
    return scores


def row_of(name: str, scores: Mapping[str, Mapping[str, float]]) -> str:
    """A row of the table; the mean stands where all languages are there."""
    cells = [f"{scores[one]['value']:.2f}" if one in scores else "" for one in LANGUAGES]
    mean = f"{sum(scores[one]['value'] for one in LANGUAGES) / len(LANGUAGES):.2f}" if all(cells) else ""
    return f"| {name} | {' | '.join([*cells, mean])} |"


def main() -> None:
    """Prints a row of a table for each system."""
    names = [system.name for system in SYSTEMS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5000, help="of each language")
    parser.add_argument("--texts", choices=("different", "same"), default="different", help="of the languages")
    parser.add_argument("--updates", type=int, default=3000, help="of each language")
    parser.add_argument("--systems", nargs="+", choices=names, default=names, help="all, unless some are named")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--layers", type=int, default=1, help="of the encoder and of each decoder")
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--validations", type=int, default=8, help="of a training")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fall", type=int, default=0, help="more updates of each language, while the rate falls to 0")
    given = parser.parse_args()
    size = Size(given.dim, given.layers, given.updates, given.dropout, given.validations, given.seed, given.fall)
    given.folder.mkdir(parents=True, exist_ok=True)
    written(given.folder, given.pairs, different=given.texts == "different")
    print(f"| system | {' | '.join(LANGUAGES)} | mean |\n|---|{'---:|' * (len(LANGUAGES) + 1)}")
    singles = list[Mapping[str, Mapping[str, float]]]()
    for system in (one for one in SYSTEMS if one.name in given.systems):
        scores = judged(given.folder, system, size)
        if system.row != "translator":
            print(row_of(system.name, scores), flush=True)
            continue
        singles.append(scores)
        if len(singles) == len(LANGUAGES):
            print(row_of(system.name.rpartition("-")[0], dict(ChainMap(*singles))), flush=True)
            singles.clear()


if __name__ == "__main__":
    main()
