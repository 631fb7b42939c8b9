"""`regard teach` with few corrections of another domain: gain there, and loss on the domain of the start.

    REGARD_DATA=FOLDER python benchmarks/corrections.py runs/corrections [--start RUN]
    REGARD_DATA=FOLDER python benchmarks/corrections.py runs/corrections --domains multi30k --corrections 10 --seeds 1
    python benchmarks/corrections.py runs/corrections --domains words --start-minutes 2

The start is a translator of English-German Tatoeba, trained unless one is given. The first references of a domain, in
the order of its training set, take the place of corrections; each number of them is taught by the defaults of `regard
teach`. With `--domains words`, a few minutes, old text and corrections are of the grammar of the demo: the corrections
have one of five words that the old text has not. Start and result are evaluated by greedy search on test sets of both
domains, with 95 % intervals of the difference by paired bootstrap. After an interruption the same command goes on. The
table is README.md of the folder.
"""

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adaptation import DOMAINS, OLD, Pair, compared, difference, mean, measure_cells, tatoeba, trained_start, written
from program import options

from regard.config.versions import MODEL
from regard.data.toy import pairs
from regard.recipes.teach import TeachingRequest, teach

WORDS = "words"  # the domain of the demo's grammar
NEW_WORDS = {"painter", "father", "teacher", "sad", "friday"}


def main() -> None:
    """Teaches and evaluates what is missing, and writes the table."""
    program = options(__doc__)
    program.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the runs and the table")
    program.add_argument("--start", type=Path, metavar="RUN", help="run to start from, trained on Tatoeba")
    program.add_argument("--start-minutes", type=float, default=60, help="processor time of the start (default: 60)")
    program.add_argument("--domains", nargs="+", default=[*DOMAINS], choices=[*DOMAINS, WORDS])
    program.add_argument("--words", type=int, help="only pairs of Tatoeba of up to N words a side, 20,000 to train on")
    program.add_argument("--settings", nargs="*", default=[], help="settings of each lesson")
    program.add_argument("--corrections", nargs="+", type=int, default=[10, 50, 500], metavar="NUMBER")
    program.add_argument("--seeds", type=int, default=3, help="seeds of each training (default: 3)")
    program.add_argument("--test", type=int, default=1_000, help="lines of each test set (default: 1000)")
    given = program.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    grammar = {OLD: lambda: of_grammar(new=False), WORDS: lambda: of_grammar(new=True)}
    short = {OLD: lambda: of_few_words(given.words), **DOMAINS} if given.words else None
    texts = written(given.folder, given.test, grammar if given.domains == [WORDS] else short)
    start = given.start or trained_start(given, texts[OLD])
    measure_cells(given.folder, cells(given), lambda cell: measured(cell, given, start, texts), table)


def cells(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be taught."""
    for seed in range(1, given.seeds + 1):
        for domain in given.domains:
            yield from ({"domain": domain, "corrections": count, "seed": seed} for count in given.corrections)


def measured(
    cell: dict[str, Any], given: argparse.Namespace, start: Path, texts: dict[str, dict[str, Path]]
) -> dict[str, Any]:
    """Teach the corrections of one cell and return its figures."""
    domain, count, seed = (cell[name] for name in ("domain", "corrections", "seed"))
    folder = given.folder
    run = folder / f"{domain}-{count}-{seed}"
    sides = (texts[domain][f"train.{side}"].read_text("utf-8").splitlines()[:count] for side in ("en", "de"))
    table = folder / f"{run.name}.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)), encoding="utf-8")
    shutil.rmtree(run, ignore_errors=True)
    began = time.process_time()
    changes = [f"training.seed={seed}", "training.threads=1", *given.settings]
    taught = teach(TeachingRequest(start, table, run, changes=changes), print, quiet=True)
    found: dict[str, Any] = {"kept": taught.changed, "core_minutes": (time.process_time() - began) / 60}
    found |= {name: taught.report.values["new"][name] for name in ("part", "p_value")}
    result = run / MODEL if taught.changed else start
    return {**found, "new": compared(start, result, texts[domain]), "old": compared(start, result, texts[OLD])}


def of_grammar(*, new: bool) -> dict[str, list[Pair]]:
    """Return pairs of the demo's grammar with one of the new words, or without any."""
    found = {"train": pairs("de", 9_000, 1), "dev": pairs("de", 400, 2), "test": pairs("de", 2_000, 3, part="test")}
    return {
        part: [pair for pair in some if new != NEW_WORDS.isdisjoint(pair[0].lower().strip(".?").split())]
        for part, some in found.items()
    }


def of_few_words(most: int) -> dict[str, list[Pair]]:
    """Return the pairs of Tatoeba of up to `most` words a side, 20,000 of them to train on."""
    found = {part: [pair for pair in some if max(len(text.split()) for text in pair) <= most]
             for part, some in tatoeba().items()}  # fmt: skip
    return {**found, "train": found["train"][:20_000]}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the figures in Markdown: means over seeds, with the widest of the intervals' ends."""
    lines = [
        "| domain | corrections | seeds | kept | BLEU there | difference (95 %) | old text (95 %) | core minutes |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["domain"], row["corrections"]), []).append(row)
    for (domain, count), some in sorted(groups.items()):
        start, score = (mean([row["new"][name] for row in some]) for name in ("start", "score"))
        ends = f"{start:.2f} → {score:.2f} | {difference(some, 'new')} | {difference(some, 'old')}"
        kept, minutes = sum(row["kept"] for row in some), mean([row["core_minutes"] for row in some])
        lines.append(f"| {domain} | {count} | {len(some)} | {kept} | {ends} | {minutes:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
