"""A simulated translator: does a run translate better what it has confirmed before?

    REGARD_DATA=FOLDER python benchmarks/confirmations.py RUN DOMAIN... [--segments N] [--seeds N]
        [--standing SOURCE TARGET]

The segments of a domain are translated one by one in the order of its files; then the reference of each is confirmed,
and stands in a translation memory from the next segment on. Systems: the run alone; exact matches of the memory in
place of the run's translation; these with the nearest segments joined (the feature nearest_segments); without a memory,
the run taught "every night": after each 100 segments `regard teach` gets the references of all before; and both, the
memory and the lessons. Seeds are streams that begin at other places of the files, at equal distances.

BLEU and chrF are of the whole stream. A repeated error is a word of a reference that a translation lacks although an
earlier correction of the same system has added it: per 100 words of the references, within the first 50 segments and
after them. Milliseconds are processor time for a segment, with its search in the memory. At the end the standing set,
texts of the run's own domain, is translated beside the whole memory, or by what was taught. The last table has means
over seeds, with the least and the most.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from program import DATA, as_line, lines_of, machine, markdown, options, row, save

from regard.evaluation import METRICS
from regard.evaluation.tokenization import words
from regard.memory import TranslationMemory, TranslationUnit
from regard.predictor import Predictor, load
from regard.recipes.teach import TeachingRequest, teach
from regard.registry import Choice

Pair = tuple[str, str]
FIRST = 50  # segments after which a memory may be expected to help
GNOME = {"en": 1, "de": 2, "fr": 3, "es": 4, "zh": 5}  # columns of its tables
RATES = (f"repeated errors, first {FIRST}", "after them", "after them, % of change")
NIGHT = 100  # segments between two lessons
EXACT, NEAREST, TAUGHT, BOTH = "exact matches", "nearest segments", "taught every night", "nearest segments and taught"
SYSTEMS = ("run alone", EXACT, NEAREST, TAUGHT, BOTH)


class Stream(NamedTuple):
    """What one system made of a domain."""

    texts: list[str]
    errors: list[int]  # repeated ones of each segment
    seconds: float
    predictor: Predictor  # at the end


class Nights:
    """A copy of a run that is taught all that was confirmed, and decodes with `features`."""

    def __init__(self, run: Path, folder: Path, seed: int, features: Sequence[Choice]) -> None:
        self.run, self.table = folder / "run", folder / "confirmed.tsv"
        self.changes = [f"training.seed={seed}", "training.threads=1"]
        self.lessons, self.kept, self.seconds, self.features = 0, 0, 0.0, features
        shutil.copytree(run, self.run)

    def learn(self, pairs: Sequence[Pair]) -> Predictor:
        """Teach, and return the run as it is then."""
        start = time.process_time()
        self.table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
        self.kept += teach(TeachingRequest(self.run, self.table, changes=self.changes), print, quiet=True).changed
        self.lessons += 1
        self.seconds += time.process_time() - start
        return load(self.run, features=self.features)


def main() -> None:
    """Translate each domain by each system, and print the table."""
    program = options(__doc__, segments=1_000, seeds=1, threads=1)
    program.add_argument("run", type=Path, metavar="RUN", help="a translator")
    program.add_argument("domains", nargs="+", choices=[*DOMAINS], metavar="DOMAIN", help=", ".join(DOMAINS))
    program.add_argument("--languages", nargs=2, default=["en", "de"], help="source and target (default: en de)")
    program.add_argument("--systems", nargs="+", choices=SYSTEMS[1:], default=SYSTEMS[1:4], help="beside the run alone")
    program.add_argument("--standing", nargs=2, type=Path, metavar="FILE", help="standing set: its source and target")
    given = program.parse_args()
    torch.set_num_threads(given.threads)
    found, rows = machine(given.threads), list[dict[str, Any]]()
    print(as_line(found), end="\n\n")
    for seed in range(1, given.seeds + 1):
        for cells in (cells for domain in given.domains for cells in measured(given, domain, seed)):
            print(row(*cells.values()) if rows else markdown([*cells], [[*cells.values()]]), flush=True)
            rows.append(cells)
    print("", means(rows), sep="\n")
    save(given.json, {"machine": found, "run": str(given.run), "rows": rows})


def measured(given: argparse.Namespace, domain: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of each system."""
    languages = (given.languages[0], given.languages[1])
    texts, first = [*DOMAINS[domain](*languages)], None
    pairs = texts[(seed - 1) * len(texts) // given.seeds :][: given.segments]
    for system in (SYSTEMS[0], *given.systems):
        with tempfile.TemporaryDirectory() as folder:
            memory = TranslationMemory(Path(folder) / "stream.memory", languages)
            near = Choice("nearest_segments", {"memory": str(memory.path)})
            feature = [near] if system in (NEAREST, BOTH) else []
            nights = Nights(given.run, Path(folder), seed, feature) if system in (TAUGHT, BOTH) else None
            answers = memory if system in (EXACT, NEAREST, BOTH) else None
            found = streamed(load(given.run, features=feature), pairs, answers, memory, nights)
            standing = "" if given.standing is None else standing_bleu(found.predictor, given.standing)
        first = first or found
        lessons = ("", "") if nights is None else (f"{nights.kept} of {nights.lessons}", round(nights.seconds / 60, 1))
        told = dict(zip(("standing BLEU", "lessons kept", "their core minutes"), (standing, *lessons), strict=True))
        yield {"domain": domain, "seed": seed, "system": system, **figures(found, first, pairs), **told}


def means(rows: Sequence[dict[str, Any]]) -> str:
    """Return the means over seeds, with the least and the most."""
    names, groups = ["bleu", "chrf", *RATES, "ms a segment", "standing BLEU"], dict[Pair, list[dict[str, Any]]]()
    for cells in rows:
        groups.setdefault((cells["domain"], cells["system"]), []).append(cells)
    shown = []
    for key, some in groups.items():
        values = [[cells[name] for cells in some if cells[name] != ""] for name in names]
        spread = [f"{statistics.mean(one):.2f} ({min(one)} to {max(one)})" if one else "" for one in values]
        shown.append([*key, *spread])
    return markdown(["domain", "system", *names], shown)


def streamed(
    predictor: Predictor,
    pairs: Sequence[Pair],
    answers: TranslationMemory | None,
    memory: TranslationMemory,
    nights: Nights | None = None,
) -> Stream:
    """Translate segment by segment, and confirm each reference in `memory`; `answers`: exact matches are taken."""
    texts, errors, added, seconds, before = list[str](), list[int](), set[str](), 0.0, ""
    for number, (source, reference) in enumerate(pairs):
        if nights is not None and number and not number % NIGHT:
            predictor = nights.learn(pairs[:number])
        start = time.process_time()
        matches = [] if answers is None else answers.search(source, before=before, threshold=100, limit=1)
        text = matches[0].target if matches else predictor.predict([source])[0].text
        seconds += time.process_time() - start
        missing = Counter(words(reference)) - Counter(words(text))
        errors.append(sum(count for word, count in missing.items() if word in added))
        added |= missing.keys()
        texts.append(text)
        memory.add([TranslationUnit(source, reference, before)])
        before = source
    return Stream(texts, errors, seconds, predictor)


def figures(found: Stream, first: Stream, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the columns of a row; `first` is the run alone."""
    references = [reference for _, reference in pairs]
    sizes = [len(words(reference)) for reference in references]
    rates = [
        [100 * sum(stream.errors[part]) / max(1, sum(sizes[part])) for part in (slice(FIRST), slice(FIRST, None))]
        for stream in (found, first)
    ]
    change = 100 * (rates[0][1] / max(rates[1][1], 1e-9) - 1)
    return {
        "segments": len(pairs),
        **{name: score(name, found.texts, references) for name in ("bleu", "chrf")},
        **dict(zip(RATES, [*(round(one, 1) for one in rates[0]), round(change, 1)], strict=True)),
        "ms a segment": round(1000 * found.seconds / len(pairs), 1),
    }


def score(name: str, texts: Sequence[str], references: Sequence[str]) -> float:
    """Return a metric of a corpus."""
    return round(METRICS.build(Choice(name)).score(texts, references).value, 2)


def standing_bleu(predictor: Predictor, files: Sequence[Path]) -> float:
    """Return BLEU of the standing set."""
    source, target = (file.read_text("utf-8").splitlines() for file in files)
    return score("bleu", [one.text for one in predictor.predict(source)], target)


def gnome_ui(source: str, target: str) -> Iterator[Pair]:
    """Yield the texts of a program's interface in the order of its source files."""
    for name in ("nautilus", "control-center"):
        for line in lines_of(DATA / f"gnome_ui/{name}.tsv.gz"):
            fields = line.split("\t")
            yield fields[GNOME[source]], fields[GNOME[target]]


def ted(source: str, target: str) -> Iterator[Pair]:
    """Yield the sentences of talks in German and English."""
    columns = {"de": 2, "en": 3}
    for line in lines_of(DATA / "ted_de-en_docs/TED.tst2013.tsv.gz"):
        fields = line.split("\t")
        yield fields[columns[source]], fields[columns[target]]


def multi30k(source: str, target: str) -> Iterator[Pair]:
    """Yield captions of photographs."""
    yield from zip(*(lines_of(DATA / f"multi30k/train.{code}.gz") for code in (source, target)), strict=True)


DOMAINS: dict[str, Callable[[str, str], Iterator[Pair]]] = {"gnome_ui": gnome_ui, "ted": ted, "multi30k": multi30k}


if __name__ == "__main__":
    main()
