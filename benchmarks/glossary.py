"""Terms of a glossary in translations of Multi30k: how many are kept, what they cost, and whether wrong ones are told.

Of each pair of test sentences some terms are drawn: words whose usual translations, by counts of the training pairs,
have one that the reference uses. So a glossary of a sentence is right. A wrong one has other words of the language.

    python benchmarks/glossary.py RUN            # a run that was trained on Multi30k, English to German
"""

import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu
import torch
from program import DATA, head, lines_of, options, row

import regard
from regard.documents.glossary import Entry, Glossary, uses
from regard.results import Prediction, TermUse, TextPrediction

WORD = re.compile(r"\w{3,}")
USUAL, LEAST, ALIKE = 5, 5, 0.15  # translations of a word; pairs that have it; Dice's coefficient of both
WRONG, WRONGED = 10, 200  # terms of a sentence; sentences
HEAD = "terms a sentence", "terms", "there anyway", "kept", "BLEU", "of the free beam's speed", "told to fit badly"


class Corpus(NamedTuple):
    """Sentences of both languages."""

    source: list[str]
    target: list[str]


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, lines=1000)
    parser.add_argument("run", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # so that time of the processor is time on one core, whatever else runs
    predictor = regard.load(asked.run)
    train, test = read("train", None), read("test2016", asked.lines)
    usual = translations(train)
    predictor.predict(test.source[:50])
    free, seconds = timed(predictor, test.source, None)
    print(f"BLEU of the free beam: {bleu(free, test):.2f}, {len(free) / seconds:.0f} sentences a second\n")
    print(head(*HEAD))
    for most in (1, 2, 3):
        given = [drawn(usual, *pair, most) for pair in zip(*test, strict=True)]
        found, taken = timed(predictor, test.source, given)
        before, after = kept(free, given), kept(found, given)
        shares = (f"{sum(some) / len(some):.1%}" for some in (before, after))
        badly = sum("fit badly" in one.warning for one in found)
        cells = f"{bleu(found, test):.2f}", f"{seconds / taken:.0%}", f"{badly:,} sentences"
        print(row(most, f"{len(after):,}", *shares, *cells))
    wrong(predictor, test, sorted({word for some in usual.values() for word in some}))


def read(part: str, lines: int | None) -> Corpus:
    """The first lines of a part."""
    return Corpus(*(lines_of(DATA / "multi30k" / f"{part}.{code}.gz")[:lines] for code in ("en", "de")))


def translations(train: Corpus) -> dict[str, list[str]]:
    """The words that most often stand beside each word, by Dice's coefficient."""
    sources, targets, both = Counter[str](), Counter[str](), defaultdict[str, Counter[str]](Counter)
    for source, target in zip(*train, strict=True):
        words, others = set(WORD.findall(source)), set(WORD.findall(target))
        sources.update(words)
        targets.update(others)
        for word in words:
            both[word].update(others)

    def alike(word: str, other: str) -> float:
        return 2 * both[word][other] / (sources[word] + targets[other])

    found = {}
    for word, count in sources.items():
        best = sorted(both[word], key=lambda other: (-alike(word, other), other))[:USUAL]  # the same in every process
        found[word] = [other for other in best if count >= LEAST and alike(word, other) >= ALIKE]
    return found


def drawn(usual: dict[str, list[str]], source: str, target: str, most: int) -> Glossary:
    """At most so many right terms of a pair, drawn by the pair itself."""
    words, there = list(dict.fromkeys(WORD.findall(source))), set(WORD.findall(target))
    random.Random(source).shuffle(words)
    entries = dict[str, Entry]()  # by target: each translation once
    for word in words:
        right = next((other for other in usual.get(word, ()) if other in there and other not in entries), None)
        if right is not None and len(entries) < most:
            entries[right] = Entry(word, (right,))
    return Glossary(entries.values())


def timed(
    predictor: regard.Predictor, sources: list[str], given: list[Glossary] | None
) -> tuple[list[Prediction], float]:
    """Predictions, and the seconds of the processor that they took."""
    start = time.process_time()
    return predictor.predict(sources, glossary=given), time.process_time() - start


def kept(predictions: Sequence[Prediction], given: list[Glossary]) -> list[bool]:
    """Whether each term that a source has is in the translation."""
    pairs = zip(predictions, given, strict=True)
    return [use.used for one, terms in pairs for use in uses(terms.found(one.source), one.text)]


def wrong(predictor: regard.Predictor, test: Corpus, words: list[str]) -> None:
    """Glossaries of wrong terms, and how many of those are told."""
    draw, given = random.Random(1), list[Glossary]()
    for source, target in zip(*test, strict=True):
        others = [word for word in draw.sample(words, 2 * WRONG) if word not in target]
        pairs = zip(dict.fromkeys(WORD.findall(source)), others, strict=False)
        given.append(Glossary([Entry(word, (other,)) for word, other in list(pairs)[:WRONG]]))
    found, _ = timed(predictor, test.source[:WRONGED], given[:WRONGED])
    told = [one for one in found if "fit badly" in one.warning or "is not translated" in one.warning]
    terms = [len(terms_of(some)) for some in (told, found)]
    used = sum(use.used for use in terms_of(found))
    print(f"\nWrong terms: {terms[1]:,} in {len(found)} sentences, {used:,} of them used; {len(told)} of the sentences")
    print(f"have a warning, with {terms[0]:,} of the terms.")


def terms_of(found: Sequence[Prediction]) -> list[TermUse]:
    """What became of the terms of translations."""
    return [use for one in found if isinstance(one, TextPrediction) and one.terms for use in one.terms.uses]


def bleu(found: Sequence[Prediction], test: Corpus) -> float:
    """Of the whole test."""
    return sacrebleu.corpus_bleu([one.text for one in found], [test.target]).score


if __name__ == "__main__":
    main()
