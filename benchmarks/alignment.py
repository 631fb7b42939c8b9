"""Alignment error rates of all alignment models and symmetrisations on the gold sets of $REGARD_DATA/alignment.

    python benchmarks/alignment.py
    python benchmarks/alignment.py de-en --program "eflomal-align -i {text} -f {forward} -r {reverse}"

Each model learns from the sentences that have gold links and, where there are any, from other texts of the same
languages: captions, talks, and the longest sentences of Tatoeba. `--program` is a command that gets the same texts,
`source ||| target`, and writes links of both directions; its links are symmetrised and judged as ours are.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from program import DATA, head, lines_of, options, row

from regard.config import Choice
from regard.evaluation import read_gold
from regard.evaluation.alignments import Link, link_rates
from regard.explain.alignment import parse_pharaoh
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.symmetrisation import SYMMETRISATIONS
from regard.text.words import cut_words

Pair = tuple[list[str], list[str]]
Links = list[list[Link]]
Directions = tuple[Links, Links]

LONGEST = 50_000  # sentences of Tatoeba, whose lists begin with the short ones
OTHERS = {  # files by pair of languages
    "de-en": [
        ("multi30k/train.de.gz", "multi30k/train.en.gz"),
        ("tatoeba_en-de/train.de.gz", "tatoeba_en-de/train.en.gz"),
    ],
    "en-fr": [
        ("multi30k/train.en.gz", "multi30k/train.fr.gz"),
        ("tatoeba_en-fr/train.en.gz", "tatoeba_en-fr/train.fr.gz"),
    ],
}
WAYS = [("separate", False, 0.0), ("separate, alpha 0.01", False, 0.01), ("agree", True, 0.0)]
TALKS = {"de-en": "ted_de-en_docs"}  # lines of talk, number, German, English


def words(text: str) -> list[str]:
    return [piece.strip() for piece in cut_words(text.lower())]


def gold_pairs(languages: str) -> list[Pair]:
    sides = (lines_of(DATA / "alignment" / f"{languages}.{one}.gz") for one in languages.split("-"))
    return [(source.lower().split(), target.lower().split()) for source, target in zip(*sides, strict=True)]


def other_pairs(languages: str) -> Iterator[Pair]:
    for files in OTHERS.get(languages, ()):
        texts = list(zip(*(lines_of(DATA / file) for file in files), strict=True))[-LONGEST:]
        yield from ((words(source), words(target)) for source, target in texts)
    for path in sorted((DATA / TALKS[languages]).glob("*.tsv.gz")) if languages in TALKS else ():
        fields = (line.split("\t") for line in lines_of(path))
        yield from ((words(source), words(target)) for _, _, source, target in fields)


def on_the_diagonal(pairs: Sequence[Pair]) -> Directions:
    """Each word linked to the one at the same share of its sentence: what needs no learning."""
    sizes = [(len(source), len(target)) for source, target in pairs]
    forward = [[(j * source // target, j) for j in range(target)] for source, target in sizes]
    return forward, [[(i, i * target // source) for i in range(source)] for source, target in sizes]


def ours(name: str, alpha: float, agree: bool, given: Sequence[Pair], learnt: Bitext) -> Directions:
    both, text = fit_both(learnt, ALIGNERS.build(Choice(name)), alpha=alpha, agree=agree), Bitext.of(given)
    return both.links(text, SYMMETRISATIONS["forward"]), both.links(text, SYMMETRISATIONS["reverse"])


def others(program: str, pairs: Sequence[Pair], count: int) -> Directions:
    """Links of another program for the first `count` pairs.

    `program` is a command of the shell in which {text} is a file of `source ||| target`, and {forward} and {reverse}
    are files of links that it writes.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("text", "forward", "reverse")}
        joined = "".join(f"{' '.join(source)} ||| {' '.join(target)}\n" for source, target in pairs)
        files["text"].write_text(joined, "utf-8")
        subprocess.run(program.format(**files), shell=True, check=True, stdout=subprocess.DEVNULL)
        sides = (files[side].read_text("utf-8").splitlines()[:count] for side in ("forward", "reverse"))
        forward, reverse = ([parse_pharaoh(line) for line in side] for side in sides)
    return forward, reverse


def rates(directions: Directions, languages: str) -> list[str]:
    gold = read_gold(DATA / "alignment" / f"{languages}.gold.gz")
    methods = SYMMETRISATIONS.values()
    found = ([method(*both) for both in zip(*directions, strict=True)] for method in methods)
    return [f"{100 * link_rates(links, gold).error_rate:.1f}" for links in found]


def tables(languages: str, program: str | None = None) -> Iterator[str]:
    """Rows of a Markdown table, as they are found."""
    gold = gold_pairs(languages)
    pairs = [*gold, *other_pairs(languages)]
    learnt = Bitext.of(pairs)
    yield f"\n{languages}: {len(gold):,} sentences with links, {len(pairs):,} to learn from\n"
    yield head("model", "directions", *SYMMETRISATIONS, "core seconds")
    yield row("on the diagonal", "", *rates(on_the_diagonal(gold), languages), "")
    for name, (ways, agree, alpha) in product(("ibm1", "ibm2", "diagonal", "hmm"), WAYS):
        start = core_seconds()
        links = ours(name, alpha, agree, gold, learnt)
        yield row(name, ways, *rates(links, languages), f"{core_seconds() - start:.0f}")
    if program:
        start = core_seconds()
        links = others(program, pairs, len(gold))
        yield row(program.split()[0], "", *rates(links, languages), f"{core_seconds() - start:.0f}")


def core_seconds() -> float:
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def main() -> None:
    """Prints a table for each pair of languages."""
    parser = options(__doc__)
    parser.add_argument("languages", nargs="*", default=["de-en", "en-fr", "ro-en", "zh-en"])
    parser.add_argument("--program", metavar="COMMAND")
    given = parser.parse_args()
    for languages in given.languages:
        for line in tables(languages, given.program):
            print(line, flush=True)


if __name__ == "__main__":
    main()
