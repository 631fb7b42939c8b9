"""What a translator leaves out: does translation entropy tell it (F10), and are missing words found?

    regard adequacy RUN
    python benchmarks/under_translation.py RUN [OTHER …] [--equal-length]

RUN is a translator of Multi30k, English to German; what is translated is test2016. Links are those of an HMM that is
learnt from the training pairs. A source word is dropped where its translation has no link to it. Of other runs only
that is told, by the entropies that RUN has counted, and how much less they drop than RUN, with 95 % intervals. Who
writes more drops less: with --equal-length the beam of each run has the length penalty whose answers are as long as
references of the dev part.
"""

import random
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from program import DATA, lines_of, options

import regard
from regard.config import Choice
from regard.evaluation.bleu import Bleu
from regard.evaluation.chrf import Chrf
from regard.evaluation.significance import compare_statistics, confidence_interval, paired_bootstrap
from regard.explain.adequacy import ADEQUACIES
from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE, folded_words
from regard.results import Prediction, TextPrediction
from regard.runs.lexicons import AMBIGUOUS_FRACTION
from regard.statistical import ALIGNERS
from regard.statistical.aligner import BothWays, fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.symmetrisation import SYMMETRISATIONS
from regard.statistical.translations import Translations, linked

Pair = tuple[list[str], list[str]]
Rates = dict[str, tuple[int, int]]  # (dropped, seen) of each source word

LEAST, FIFTHS = 5, 5  # occurrences of a word in the test part; parts of the words by their entropy
PERMUTATIONS = 10_000
PENALTIES, DEV_LINES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5), 200
LETTERS = 4  # of a word that is taken out, at least


def lines(name: str) -> list[str]:
    return lines_of(DATA / "multi30k" / name)


def words(text: str) -> list[str]:
    return [word for word, _ in folded_words(text)]


def pairs_of(sources: Sequence[str], targets: Sequence[str]) -> list[Pair]:
    return [(words(source), words(target)) for source, target in zip(sources, targets, strict=True)]


def drops(models: BothWays, pairs: Sequence[Pair]) -> list[list[tuple[str, bool]]]:
    """The words of each source, and whether each is dropped."""
    links = links_of(models, pairs)
    return [
        [(word, not places) for word, places in zip(source, linked(row, len(source)), strict=True)]
        for (source, _), row in zip(pairs, links, strict=True)
    ]


def drop_rates(found: Sequence[Sequence[tuple[str, bool]]]) -> Rates:
    """(dropped, seen) of each source word."""
    seen, dropped = Counter[str](), Counter[str]()
    for word, missing in (one for row in found for one in row):
        seen[word] += 1
        dropped[word] += missing
    return {word: (dropped[word], count) for word, count in seen.items() if any(map(str.isalpha, word))}


def links_of(models: BothWays, pairs: Sequence[Pair]) -> list[list[tuple[int, int]]]:
    return models.links(Bitext.of(pairs), SYMMETRISATIONS["grow-diag-final-and"])


def fifths_of(rates: Rates, translations: Translations) -> dict[str, int]:
    """The fifth of the occurrences, by rising entropy, that each word begins in."""
    known = sorted((translations.entropy(word), word) for word in rates if translations.count(word))
    total, so_far, found = sum(rates[word][1] for _, word in known), 0, dict[str, int]()
    for _, word in known:
        found[word] = FIFTHS * so_far // total
        so_far += rates[word][1]
    return found


def tell_entropy(name: str, rates: Rates, translations: Translations) -> None:
    """Spearman's correlation of entropy and drop rate over words, and the rate of each fifth of the occurrences."""
    often = {word: one for word, one in rates.items() if one[1] >= LEAST and translations.count(word) >= LEAST}
    entropies = [translations.entropy(word) for word in often]
    value, p_value = spearman(entropies, [dropped / seen for dropped, seen in often.values()])
    print(f"{name}: Spearman {value:.2f}, p {p_value:.1g}, {len(often):,} words")
    parts = [[0, 0] for _ in range(FIFTHS)]
    for word, part in fifths_of(rates, translations).items():
        parts[part] = [sum(both) for both in zip(parts[part], rates[word], strict=True)]
    print("  dropped, by fifths of rising entropy:", *(f"{dropped / seen:.1%}" for dropped, seen in parts))


class DropRate:
    """Dropped of the occurrences of some words, in per cent; statistics (sentence, 2) are both counts."""

    name, higher_is_better = "dropped", False

    def value(self, sums: NDArray[np.float64]) -> float:
        dropped, seen = sums
        return float(100 * dropped / max(1.0, seen))


def counts_of(found: Sequence[Sequence[tuple[str, bool]]], chosen: Container[str]) -> NDArray[np.float64]:
    """(sentence, 2): how many occurrences of chosen words are dropped, and how many there are."""
    rows = [[missing for word, missing in row if word in chosen] for row in found]
    return np.array([(sum(row), len(row)) for row in rows], dtype=np.float64)


def tell_difference(
    name: str,
    ours: Sequence[Sequence[tuple[str, bool]]],
    theirs: Sequence[Sequence[tuple[str, bool]]],
    translations: Translations,
) -> None:
    """How many ambiguous words, and words of each fifth, another run drops; intervals are over sentences."""
    fifths = fifths_of(drop_rates(ours), translations)
    sets = {"ambiguous words": {*translations.ambiguous(AMBIGUOUS_FRACTION)}, "all words": {*fifths}}
    sets |= {f"fifth {part + 1}": {word for word in fifths if fifths[word] == part} for part in range(FIFTHS)}
    print(f"{name}:")
    for kind, chosen in sets.items():
        one, other = (counts_of(found, chosen) for found in (ours, theirs))
        print(f"  {kind}, {int(one[:, 1].sum()):,} times:", compare_statistics(DropRate(), one, other, ""))


def spearman(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The correlation of ranks, and how often chance is as far from 0, by permutations."""
    a, b = ranks(one), ranks(other)
    found, draw = float(np.corrcoef(a, b)[0, 1]), np.random.default_rng(1)
    chance = [abs(float(np.corrcoef(a, draw.permutation(b))[0, 1])) for _ in range(PERMUTATIONS)]
    return found, (1 + sum(value >= abs(found) for value in chance)) / (1 + PERMUTATIONS)


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """From 0; equal values have the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[places]


def without_a_word(models: BothWays, source: str, target: str, draw: random.Random) -> tuple[str, list[int]] | None:
    """A reference without what one source word is linked to, and the place of that word; None where none can go."""
    places = [*folded_words(source)]
    [row] = links_of(models, [(words(source), words(target))])
    shared = Counter(target for _, target in row)
    alone = [
        (number, gone)
        for number, gone in enumerate(linked(row, len(places)))
        if len(places[number][0]) >= LETTERS and gone and all(shared[place] == 1 for place in gone)
    ]
    if not alone:
        return None
    number, gone = draw.choice(alone)
    spans = [place for _, place in folded_words(target)]
    text = target
    for place in reversed(gone):
        text = text[: spans[place][0]] + text[spans[place][1] :]
    return " ".join(text.split()), places[number][1]


def tell_checks(run: Path, predictor: regard.Predictor, models: BothWays, sources: list[str], given: list[str]) -> None:
    """How many of the words that are taken out of references are found, and how many words are told of references."""
    draw = random.Random(1)
    cut = [
        (source, without_a_word(models, source, target, draw)) for source, target in zip(sources, given, strict=True)
    ]
    changed = [(TextPrediction(source, one[0], 0.0), one[1]) for source, one in cut if one is not None]
    whole = [TextPrediction(source, target, 0.0) for source, target in zip(sources, given, strict=True)]
    ours = predictor.predict(sources)
    count = sum(sum(any(map(str.isalpha, word)) for word in words(source)) for source in sources)
    checks = [("lexicon", {"min_confidence": value}) for value in (0.7, 0.8, 0.9, 0.95)]
    checks += [("attention", {"threshold": value}) for value in (0.1, 0.2, 0.4)]
    explained: dict[str, Sequence[Prediction]] = {
        name: predictor.explainer.with_attention(some)
        for name, some in (("changed", [one for one, _ in changed]), ("whole", whole), ("ours", ours))
    }
    for name, settings in checks:
        check = ADEQUACIES.build(Choice(name, settings), run)
        hits = sum(place in check.uncovered(one) for one, (_, place) in zip(explained["changed"], changed, strict=True))
        told = {kind: [len(check.uncovered(one)) for one in explained[kind]] for kind in ("whole", "ours")}
        shares = {kind: (sum(some) / count, sum(map(bool, some)) / len(some)) for kind, some in told.items()}
        print(f"{name} {settings}: {hits / len(changed):.1%} of {len(changed):,} missing words found")
        for kind, (share, sentences) in shares.items():
            print(f"  {kind}: {share:.1%} of the words, in {sentences:.1%} of the sentences")


def loaded(run: Path, *, equal_length: bool) -> regard.Predictor:
    """A run; with `equal_length` the length penalty of its beam is that which writes about as much as people did.

    It is chosen by the first lines of the dev part.
    """
    if not equal_length:
        return regard.load(run)
    sources, given = (lines(f"val.{language}.gz")[:DEV_LINES] for language in ("en", "de"))
    found = dict[float, tuple[float, regard.Predictor]]()
    for penalty in PENALTIES:
        predictor = regard.load(run, [f"decoding.search={{name: beam, size: 5, length_penalty: {penalty}}}"])
        found[penalty] = ratio([one.text for one in predictor.predict(sources)], given), predictor
    best = min(found, key=lambda penalty: abs(found[penalty][0] - 1))
    print(f"{run}: length penalty {best:g}, {found[best][0]:.2f} words for each one of the dev part")
    return found[best][1]


def ratio(texts: Sequence[str], given: Sequence[str]) -> float:
    """Words of texts for each one of the references."""
    return sum(len(words(one)) for one in texts) / sum(len(words(one)) for one in given)


def tell_quality(name: str, texts: Sequence[str], given: Sequence[str], ours: Sequence[str]) -> None:
    """BLEU and chrF beside those of the first run, and the length."""
    for metric in (Bleu(), Chrf()):
        low, high = confidence_interval(metric, texts, given)
        print(f"{name}: {metric.name} [{low:.2f}, {high:.2f}];", paired_bootstrap(metric, ours, texts, given))
    print(f"{name}: {ratio(texts, given):.2f} words for each one of the references")


def main() -> None:
    """Prints both parts."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("others", type=Path, nargs="*")
    parser.add_argument("--equal-length", action="store_true", help="beams that write as much as people did")
    chosen = parser.parse_args()
    run, others, equal_length = chosen.run, chosen.others, chosen.equal_length
    translations, predictor = Translations.read(run / TRANSLATIONS_FILE), loaded(run, equal_length=equal_length)
    models = fit_both(Bitext.of(pairs_of(lines("train.en.gz"), lines("train.de.gz"))), ALIGNERS.build(Choice("hmm")))
    sources, given = lines("test2016.en.gz"), lines("test2016.de.gz")
    found = {"references": given, str(run): [one.text for one in predictor.predict(sources)]}
    for other in others:
        found[str(other)] = [one.text for one in loaded(other, equal_length=equal_length).predict(sources)]
    for name in map(str, [run, *others] if others else []):
        tell_quality(name, found[name], given, found[str(run)])
    dropped = {name: drops(models, pairs_of(sources, texts)) for name, texts in found.items()}
    for name, rows in dropped.items():
        tell_entropy(name, drop_rates(rows), translations)
    for other in map(str, others):
        tell_difference(other, dropped[str(run)], dropped[other], translations)
    if not others:
        tell_checks(run, predictor, models, sources, given)


if __name__ == "__main__":
    main()
