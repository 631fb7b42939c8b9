"""Translation without pairs, measured on halves of parallel text that are no translations of each other.

    python benchmarks/no_pairs.py --source train.en --target train.de --test-source test.en --test-target test.de

The source half is the first half of the lines, the target half the second one of the other file; that no pair stands in
both is asserted. BLEU of both directions: word by word, after swaps of neighbours by a language model of the target
half, in the order of the reference (an upper bound), the network of `regard train --text --text`, the phrases on its
translations, and both without noise; a network also has its round trip. Without files the texts are those of a toy
grammar, English and German. KEY=VALUE are settings of the networks.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from regard.data.readers.lines import read_lines
from regard.data.toy import pairs as toy_pairs
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.predictor import load
from regard.recipes.no_pairs import UnpairedRequest, best_dictionary, in_words, train_without_pairs
from regard.registry import Choice
from regard.reports.dictionary import read_word_pairs, word_maps
from regard.runs.embeddings import read_embeddings
from regard.runs.folder import RunFolder
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.ngram_model import NgramModel
from regard.text.words import cut_words

QUIET_NOISE = ["objective.drop=0", "objective.blank=0", "objective.swap=0"]
CODES = ("en", "de")
ORDER = 3  # words of the n-grams by which neighbours are swapped
SWAP_ROUNDS = 10  # of swaps, at most


def swapped_order(words: Sequence[str], language: NgramModel, rounds: int = SWAP_ROUNDS) -> list[str]:
    """Return the words after up to `rounds` swaps of two neighbours, each the most probable one.

    Ends where no swap makes the sentence more probable.
    """

    def log_prob(sentence: Sequence[str]) -> float:
        return fsum(language.log_probs_of(sentence))

    best, score = [*words], log_prob(words)
    for _ in range(rounds):
        swapped = [[*best[:place], best[place + 1], best[place], *best[place + 2 :]] for place in range(len(best) - 1)]
        found = max(swapped, key=log_prob, default=best)
        if (gained := log_prob(found)) <= score:
            break
        best, score = found, gained
    return best


def oracle_order(words: Sequence[str], reference: Sequence[str]) -> list[str]:
    """Return the words in the order that they have in the reference, an upper bound of what reordering can give.

    A word that stands there several times takes the place that is nearest behind the word before it; one that the
    reference lacks follows the word that it followed before. Words stay where this order shares fewer n-grams.
    """
    places = defaultdict[str, list[int]](list)
    for place, word in enumerate(reference):
        places[word].append(place)
    keys, last = list[tuple[int, int]](), -1
    for number, word in enumerate(words):
        if places.get(word):
            last = min(places[word], key=lambda place: abs(place - last - 1))
            places[word].remove(last)
        keys.append((last, number))
    ordered = [words[number] for _, number in sorted(keys)]
    return max(ordered, [*words], key=lambda one: _shared(one, reference))


def _shared(words: Sequence[str], reference: Sequence[str], longest: int = 4) -> int:
    """Return how many n-grams of the words, up to `longest`, the reference has."""
    grams = [Counter(tuple(one[place : place + size]) for size in range(2, longest + 1)
                     for place in range(len(one) - size + 1)) for one in (words, reference)]  # fmt: skip
    return (grams[0] & grams[1]).total()


def bleu(found: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of translations."""
    metric = METRICS.build(Choice("bleu"))
    return metric.value(metric.statistics(corpus_of(found, references)).sum(axis=0))


def halves(given: argparse.Namespace) -> dict[str, list[list[str]]]:
    """Train and test lines of both languages; the halves of the former have no pair in common."""
    if given.source is None:
        parts = {"train": toy_pairs("de", given.lines, 1), "test": toy_pairs("de", 300, 2, part="test")}
        found = {name: [list(side) for side in zip(*some, strict=True)] for name, some in parts.items()}
    else:
        files = {"train": (given.source, given.target), "test": (given.test_source, given.test_target)}
        found = {name: [list(read_lines(Path(file))) for file in two] for name, two in files.items()}
    own, other = found["train"]
    middle = len(own) // 2
    rows, others = range(middle), range(middle, len(other))
    assert len(own) == len(other) and not {*rows} & {*others}, "the halves share pairs"
    found["train"] = [[own[row] for row in rows], [other[row] for row in others]]
    return found


def word_figures(
    start: Path, known: Path | None, texts: Sequence[Sequence[str]], test: Sequence[Sequence[str]]
) -> dict[str, float]:
    """BLEU of words by the dictionary, after swaps, and in the order of the reference."""
    pairs = read_word_pairs(known) if known else []
    source, target = (read_embeddings(start / f"words-{code}").table for code in CODES)
    found = dict[str, float]()
    for place, words in enumerate(word_maps(best_dictionary(source, target, pairs, say=print), pairs)):
        way = f"{CODES[place]}-{CODES[1 - place]}"
        orders = order_figures(test[place], test[1 - place], words, texts[1 - place])
        found |= {f"{name} {way}": value for name, value in orders.items()}
    return found


def order_figures(
    sources: Sequence[str], references: Sequence[str], words: Mapping[str, str], text: Sequence[str]
) -> dict[str, float]:
    """BLEU of words in the order of the source, after swaps by a language model of the text, and of the reference.

    All three are compared cut into words.
    """
    written, right = [words_of(in_words(line, words)) for line in sources], [words_of(line) for line in references]
    language = kneser_ney(map(words_of, text), ORDER)
    orders = {
        "word by word": written,
        "swapped": [swapped_order(line, language) for line in written],
        "oracle order": [oracle_order(*two) for two in zip(written, right, strict=True)],
    }
    wanted = [" ".join(line) for line in right]
    return {name: bleu([" ".join(line) for line in lines], wanted) for name, lines in orders.items()}


def words_of(line: str) -> list[str]:
    """Words and signs of a line."""
    return [one.strip() for one in cut_words(line)]


def network_figures(run: Path, test: Sequence[Sequence[str]]) -> dict[str, float]:
    """BLEU of a trained network, and the best round trip of its validations."""
    found = dict[str, float]()
    for place, changes in enumerate(([], ["decoding.route=de-en"])):
        answers = load(run, [*changes, "decoding.search=greedy"]).predict(test[place])
        found[f"{CODES[place]}-{CODES[1 - place]}"] = bleu([one.text for one in answers], test[1 - place])
    found["round trip"] = max(scores.get("round_trip", 0.0) for scores in RunFolder(run).scores().values())
    return found


def phrase_figures(folder: Path, test: Sequence[Sequence[str]]) -> dict[str, float]:
    """BLEU of the phrases that are counted on a network's translations."""
    ways = {f"{CODES[place]}-{CODES[1 - place]}": place for place in (0, 1)}
    answers = {way: load(folder / way).predict(test[place]) for way, place in ways.items()}
    return {way: bleu([one.text for one in answers[way]], test[1 - place]) for way, place in ways.items()}


def measure(given: argparse.Namespace) -> Mapping[str, Any]:
    """All figures, each as soon as it is there."""
    folder, parts, figures = given.folder, halves(given), dict[str, Any]()
    folder.mkdir(parents=True, exist_ok=True)
    texts = [folder / f"half.{code}" for code in CODES]
    for file, lines in zip(texts, parts["train"], strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, changes in {"network": [], "without noise": QUIET_NOISE}.items():
        run = folder / name.replace(" ", "-")
        request = UnpairedRequest((texts[0], texts[1]), run, [*given.changes, *changes], given.seed_pairs)
        finished = RunFolder(request.phrases / f"{CODES[1]}-{CODES[0]}").finished
        if not (finished or train_without_pairs(request, print)):
            raise SystemExit(f"interrupted: regard train {run} --resume, then the same command")
        if not figures:
            figures |= word_figures(folder / "network-start", given.seed_pairs, parts["train"], parts["test"])
        figures[name] = network_figures(run, parts["test"])
        figures[f"{name}, then phrases"] = phrase_figures(request.phrases, parts["test"])
        print(json.dumps(figures, indent=1), flush=True)
    return figures


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source", "--target", "--test-source", "--test-target"):
        parser.add_argument(name, metavar="FILE", type=Path)
    parser.add_argument("--seed-pairs", metavar="FILE", type=Path, help="known words, WORD<TAB>TRANSLATION a line")
    parser.add_argument("--lines", type=int, default=6_000, help="sentences of the toy grammar")
    parser.add_argument("--folder", type=Path, default=Path("runs/no-pairs"))
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
