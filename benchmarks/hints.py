"""Similar segments and terms in the source: runs that are trained to read them beside one that is not.

    REGARD_DATA=FOLDER python benchmarks/hints.py runs/hints [--minutes 4] [--pairs 10000]

Three trainings of equal processor time on texts of two programs (gnome_ui, English to German) and short pairs of
Tatoeba: plain, with similar segments (`fuzzy_matches`), with annotated terms (`terms`). Tests are 500 texts of the
programs and 500 of Tatoeba. The memory has the programs' texts of the training. Terms are words whose usual
translations in the training texts have one that the reference uses, two a text at most, given in the form that is most
frequent there: a term is inflected where the reference has another one. Runs that are there are used again.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu
import torch
from adaptation import Pair, gnome_ui, tatoeba
from glossary import WORD, Corpus, drawn, translations
from program import markdown, options, save

import regard
from regard.documents.glossary import Entry, Glossary, uses
from regard.memory import TranslationMemory, TranslationUnit
from regard.registry import Choice
from regard.text.stems import same_stem

KINDS = {"plain": [], "fuzzy_matches": ["data.source_augmentations=fuzzy_matches"],
         "terms": ["data.source_augmentations=terms"]}  # fmt: skip
LONGEST, HELD_OUT, SIMILAR = 10, 150, 50  # words of a side; pairs of each kind in the dev set; per cent
TERMS = 2


class Terms(NamedTuple):
    """Terms of a text: as the glossary has them, and as the reference writes them."""

    glossary: Glossary
    forms: dict[str, str]


def main() -> None:
    """Train what is missing, and print the tables."""
    parser = options(__doc__, minutes=4.0, pairs=10_000, test=500)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the runs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    programs, short = gnome_ui(), {part: [pair for pair in some if longest(pair) <= LONGEST] for part, some in
                                   tatoeba().items()}  # fmt: skip
    known = programs["train"][HELD_OUT:]
    train = [*known, *short["train"][: given.pairs]]
    dev = [*programs["train"][:HELD_OUT], *short["dev"][:HELD_OUT]]
    runs = {kind: trained(given, kind, train, dev) for kind in KINDS}
    tests = {"programs": programs["test"][: given.test], "Tatoeba": short["test"][: given.test]}
    tables = {"similar segments": of_segments(given, runs, known, tests), "terms": of_terms(runs, train, tests)}
    print("\n\n".join(tables.values()))
    save(given.json, tables)


def longest(pair: Pair) -> int:
    """Return the number of words of the longer side."""
    return max(len(text.split()) for text in pair)


def trained(given: argparse.Namespace, kind: str, train: Sequence[Pair], dev: Sequence[Pair]) -> Path:
    """Train a run, unless it is there."""
    run, files = given.folder / kind, dict[str, Path]()
    for name, pairs in (("train", train), ("dev", dev)):
        for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            files[f"{name}.{side}"] = file = given.folder / f"{name}.{side}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if not (run / "final.json").exists():
        others = [f"data.dev.{side}={files[f'dev.{side}']}" for side in ("source", "target")]
        limits = [f"training.max_core_minutes={given.minutes:g}", "training.threads=1", "data.languages=[en,de]"]
        changes = [*others, *limits, *KINDS[kind]]
        regard.train(changes=changes, source=files["train.source"], target=files["train.target"], run=run)
    return run


def of_segments(
    given: argparse.Namespace, runs: dict[str, Path], known: Sequence[Pair], tests: dict[str, list[Pair]]
) -> str:
    """Return BLEU of texts with and without similar segments."""
    path = given.folder / "programs.memory"
    path.unlink(missing_ok=True)
    memory = TranslationMemory(path, ("en", "de"))
    memory.add(TranslationUnit(*pair) for pair in known)
    texts = defaultdict[str, list[Pair]](list)
    for pair in tests["programs"]:
        found = memory.search(pair[0], threshold=SIMILAR, limit=1)
        texts["programs, similar" if found else "programs, others"].append(pair)
    texts["Tatoeba"] = tests["Tatoeba"]
    joined = [Choice("nearest_segments", {"memory": str(path)})]
    systems = {
        "plain": (regard.load(runs["plain"]), None),
        "plain, nearest segments join": (regard.load(runs["plain"], features=joined), None),
        "fuzzy_matches, no memory": (regard.load(runs["fuzzy_matches"]), None),
        "fuzzy_matches": (regard.load(runs["fuzzy_matches"]), memory),
    }
    rows = []
    for name, (predictor, used) in systems.items():
        answers = [predictor.translate([source for source, _ in some], memory=used) for some in texts.values()]
        rows.append([name, *(bleu([one.text for one in some], pairs) for some, pairs in
                             zip(answers, texts.values(), strict=True))])  # fmt: skip
    return markdown(["system, BLEU", *(f"{name} ({len(some)})" for name, some in texts.items())], rows)


def of_terms(runs: dict[str, Path], train: Sequence[Pair], tests: dict[str, list[Pair]]) -> str:
    """Return the terms used, in which form, and BLEU."""
    usual = translations(Corpus(*map(list, zip(*train, strict=True))))
    counts = Counter(word for _, target in train for word in WORD.findall(target))
    systems = (("plain", False), ("plain, constraints", True), ("terms, no glossary", False), ("terms", True))
    loaded, rows = {kind: regard.load(runs[kind]) for kind in ("plain", "terms")}, []
    for text, pairs in tests.items():
        asked = [given_terms(usual, counts, pair) for pair in pairs]
        for name, reads in systems:
            predictor = loaded[name.split(",")[0]]
            glossaries = [one.glossary for one in asked] if reads else None
            found = [one.text for one in predictor.predict([source for source, _ in pairs], glossary=glossaries)]
            rows.append([text, name, *shares(asked, pairs, found), bleu(found, pairs)])
    titles = ["text", "system", "terms used", "in the reference's form", "inflected ones in its form", "BLEU"]
    return markdown(titles, rows)


def given_terms(usual: dict[str, list[str]], counts: Counter[str], pair: Pair) -> Terms:
    """Return the terms of a pair, each in its most frequent form."""
    entries, forms = list[Entry](), dict[str, str]()
    for entry in drawn(usual, *pair, TERMS).entries:
        (right,) = entry.targets
        alike = [word for word in counts if word[:3] == right[:3] and same_stem(word, right)]
        base = max([right, *alike], key=lambda word: (counts[word], word == right))
        entries.append(Entry(entry.source, (base,)))
        forms[entry.source] = right
    return Terms(Glossary(entries), forms)


def shares(asked: Sequence[Terms], pairs: Sequence[Pair], texts: Sequence[str]) -> list[str]:
    """Return the shares of terms that are used in any form, in the reference's, and of the inflected ones in theirs."""
    used, right, inflected = list[bool](), list[bool](), list[bool]()
    for terms, (source, _), text in zip(asked, pairs, texts, strict=True):
        words = set(WORD.findall(text))
        for use in uses(terms.glossary.found(source), text, inflected=True):
            form = terms.forms[use.source]
            used.append(use.used)
            right.append(form in words)
            if form not in use.targets:
                inflected.append(form in words)
    return [f"{sum(some)} of {len(some)} ({sum(some) / max(1, len(some)):.0%})" for some in (used, right, inflected)]


def bleu(texts: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Return BLEU of a test."""
    return f"{sacrebleu.corpus_bleu([*texts], [[target for _, target in pairs]]).score:.2f}"


if __name__ == "__main__":
    main()
