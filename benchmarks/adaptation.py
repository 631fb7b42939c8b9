"""A translator of Tatoeba adapted to other domains: gain on new text, loss on old, beside training from scratch.

    REGARD_DATA=FOLDER python benchmarks/adaptation.py runs/adaptation [--start RUN]
    REGARD_DATA=FOLDER python benchmarks/adaptation.py runs/adaptation --domains gnome_ui --pairs 500 --seeds 1

Trains a start on the English-German pairs of Tatoeba, unless one is given, then fine-tunes it by the defaults of
`regard train --from` on pairs of each domain, with the old text in every second batch (mixed), without (new_only), by
low-rank factors and by biases alone, and trains from scratch on the same pairs. The loss of old text is watched on
other pairs than those by which a start that it trains is selected. All are evaluated by greedy search on test sets of
both domains; differences from the start have 95 % intervals by paired bootstrap. After an interruption the same command
goes on. The table is README.md of the folder.
"""

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from program import DATA, options

import regard

Pair = tuple[str, str]
Domains = Mapping[str, Callable[[], dict[str, list[Pair]]]]
METHODS = {
    "mixed": [],
    "new_only": ["data.old=null"],
    "low_rank": ["training.optimizer=low_rank_adam"],
    "biases": ["training.trained=biases"],
    "scratch": [],
}
OLD = "old"
PARTS = ("train", "dev", "held", "test")
GREEDY = ["decoding.search=greedy"]
TED_TRAIN = ("TED.dev2010", "TED.tst2010", "TED.tst2011", "TED.tst2012")


def main() -> None:
    """Trains and evaluates what is missing, and writes the table."""
    program = options(__doc__)
    program.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the runs and the table")
    program.add_argument("--start", type=Path, metavar="RUN", help="run to start from, trained on Tatoeba")
    program.add_argument("--start-minutes", type=float, default=60, help="processor time of the start (default: 60)")
    program.add_argument("--scratch-minutes", type=float, help="processor time of trainings from scratch")
    program.add_argument("--domains", nargs="+", default=[*DOMAINS], choices=[*DOMAINS])
    program.add_argument("--pairs", nargs="+", type=int, default=[500, 2_000, 0], help="pairs of a domain; 0: all")
    program.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    program.add_argument("--seeds", type=int, default=3, help="seeds of each training (default: 3)")
    program.add_argument("--test", type=int, default=1_000, help="lines of each test set (default: 1000)")
    given = program.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    texts = written(given.folder, given.test)
    start = given.start or trained_start(given, texts[OLD])
    measure_cells(given.folder, cells(given), lambda cell: measured(cell, given, start, texts), table)


def measure_cells(
    folder: Path,
    cells: Iterable[dict[str, Any]],
    measure: Callable[[dict[str, Any]], dict[str, Any]],
    table: Callable[[Sequence[dict[str, Any]]], str],
) -> None:
    """Measure the cells that have no row yet, and write the table after each."""
    results = folder / "results.jsonl"
    rows = [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.exists() else []
    for cell in cells:
        if not any(cell.items() <= row.items() for row in rows):
            rows.append({**cell, **measure(cell)})
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
        (folder / "README.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))


def compared(start: Path, run: Path, texts: Mapping[str, Path]) -> dict[str, Any]:
    """Return the scores of two systems on a test set, and their difference."""
    both = regard.evaluate([start, run], source=texts["test.en"], target=texts["test.de"], changes=GREEDY)
    first, second = (system.scores[0].value for system in both.systems)
    test = next(test for _, test in both.comparisons)
    return {"start": first, "score": second, "difference": test.difference, "interval": [*test.interval]}


def cells(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be trained."""
    for seed in range(1, given.seeds + 1):
        for domain in given.domains:
            for pairs in given.pairs:
                yield from ({"domain": domain, "pairs": pairs, "method": one, "seed": seed} for one in given.methods)


def measured(
    cell: dict[str, Any], given: argparse.Namespace, start: Path, texts: dict[str, dict[str, Path]]
) -> dict[str, Any]:
    """Train one cell, unless its run is there, and return its figures."""
    domain, pairs, method, seed = (cell[name] for name in ("domain", "pairs", "method", "seed"))
    run = given.folder / "-".join(map(str, (domain, pairs, method, seed)))
    sides = {side: some_lines(texts[domain][f"train.{side}"], pairs) for side in ("en", "de")}
    changes = [*METHODS[method], f"training.seed={seed}", "training.threads=1"]
    if method not in ("scratch", "new_only"):
        sets = (("source", "en"), ("target", "de"))
        parts = (("train", "train"), ("dev", "held"))
        changes += [f"data.old.{to}.{side}={texts[OLD][f'{part}.{code}']}" for to, part in parts for side, code in sets]
    if method == "scratch" and given.scratch_minutes:
        changes.append(f"training.max_core_minutes={given.scratch_minutes:g}")
    if not (run / "final.json").exists():
        regard.train(
            changes=changes, source=sides["en"], target=sides["de"], run=run, quiet=True,
            start=None if method == "scratch" else start,
        )  # fmt: skip
    found: dict[str, Any] = {"count": sum(1 for _ in sides["en"].open(encoding="utf-8"))}
    found |= {"new": compared(start, run, texts[domain]), "old": compared(start, run, texts[OLD])}
    kept = run / "adaptation.json"
    found["kept"] = json.loads(kept.read_text("utf-8"))["kept"] if kept.exists() else "trained"
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the figures in Markdown: means over seeds, with the widest of the intervals' ends."""
    lines = [
        "| domain | pairs | method | seeds | new text | difference (95 %) | old text: difference (95 %) | start kept |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["domain"], row["count"], row["method"]), []).append(row)
    for (domain, count, method), some in sorted(groups.items()):
        kept = sum(row["kept"] == "start" for row in some)
        start, score = (mean([row["new"][name] for row in some]) for name in ("start", "score"))
        ends = f"{start:.2f} → {score:.2f} | {difference(some, 'new')} | {difference(some, 'old')}"
        lines.append(f"| {domain} | {count:,} | {method} | {len(some)} | {ends} | {kept} |")
    return "\n".join(lines) + "\n"


def difference(rows: Sequence[dict[str, Any]], text: str) -> str:
    """Return the mean difference of seeds, and the lowest and the highest end of their intervals."""
    found = [row[text] for row in rows]
    low, high = min(one["interval"][0] for one in found), max(one["interval"][1] for one in found)
    return f"{mean([one['difference'] for one in found]):+.2f} ({low:+.2f} to {high:+.2f})"


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def trained_start(given: argparse.Namespace, texts: dict[str, Path]) -> Path:
    """Train the start on all pairs of Tatoeba, unless it is there."""
    run = given.folder / "start"
    if not (run / "final.json").exists():
        dev = [f"data.dev.{side}={texts[f'dev.{code}']}" for side, code in (("source", "en"), ("target", "de"))]
        changes = [*dev, f"training.max_core_minutes={given.start_minutes:g}"]
        regard.train(changes=changes, source=texts["train.en"], target=texts["train.de"], run=run)
    return run


def written(folder: Path, test: int, domains: Domains | None = None) -> dict[str, dict[str, Path]]:
    """Write the sides of every part of every domain; return their files by domain and part ("train.en")."""
    found: dict[str, dict[str, Path]] = {}
    for name, read in (domains or {OLD: tatoeba, **DOMAINS}).items():
        place = folder / "texts" / name
        found[name] = {f"{part}.{side}": place / f"{part}.{side}" for part in PARTS for side in ("en", "de")}
        if all(found[name][f"{part}.en"].exists() for part in read()):
            continue
        place.mkdir(parents=True, exist_ok=True)
        for part, pairs in read().items():
            for number, side in enumerate(("en", "de")):
                lines = [pair[number] for pair in (pairs[:test] if part == "test" else pairs)]
                found[name][f"{part}.{side}"].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return found


def some_lines(file: Path, count: int) -> Path:
    """Return a file with the first lines of another one; 0: all."""
    if not count:
        return file
    part = file.with_name(f"{file.stem}-{count}{file.suffix}")
    part.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:count]), encoding="utf-8")
    return part


def lines_of(name: str) -> list[str]:
    """Return the lines of a packed file of the data."""
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def shuffled(pairs: Sequence[Pair]) -> list[Pair]:
    """Return different pairs in an order of their own."""
    found = [*dict.fromkeys(pairs)]
    random.Random(1).shuffle(found)
    return found


def tatoeba() -> dict[str, list[Pair]]:
    """Return all parts; the start is selected by 500 pairs of the dev set, and adaptations by 1,000 others."""
    parts = {part: shuffled(sides(f"tatoeba_en-de/{part}")) for part in ("train", "dev", "test")}
    return {**parts, "dev": parts["dev"][:500], "held": parts["dev"][500:1500]}


def sides(name: str) -> list[Pair]:
    """Return the pairs of two packed files."""
    return [*zip(lines_of(f"{name}.en.gz"), lines_of(f"{name}.de.gz"), strict=True)]


def multi30k() -> dict[str, list[Pair]]:
    """Return captions of photographs."""
    return {"train": shuffled(sides("multi30k/train")), "test": shuffled(sides("multi30k/test2016"))}


def gnome_ui() -> dict[str, list[Pair]]:
    """Return texts of two programs; no English text of the test set, in lower case, is in the training set."""
    rows = [line.split("\t") for name in ("nautilus", "control-center") for line in lines_of(f"gnome_ui/{name}.tsv.gz")]
    pairs = shuffled([(row[1], row[2]) for row in rows])
    test = pairs[:500]
    known = {source.lower() for source, _ in test}
    return {"train": [pair for pair in pairs[500:] if pair[0].lower() not in known], "test": test}


def ted() -> dict[str, list[Pair]]:
    """Return talks: four sets to train on, TED.tst2013 to test."""

    def read(name: str) -> list[Pair]:
        return [(row[3], row[2]) for row in (line.split("\t") for line in lines_of(f"ted_de-en_docs/{name}.tsv.gz"))]

    return {
        "train": shuffled([pair for name in TED_TRAIN for pair in read(name)]),
        "test": shuffled(read("TED.tst2013")),
    }


DOMAINS = {"gnome_ui": gnome_ui, "multi30k": multi30k, "ted": ted}


if __name__ == "__main__":
    main()
