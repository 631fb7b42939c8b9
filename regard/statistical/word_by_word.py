"""Word-by-word translation with a dictionary, and two orders of its words (baselines of https://arxiv.org/abs/1711.00043)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

from regard.statistical.ngram_model import NgramModel

SWAP_ROUNDS = 10  # of swaps, at most


def word_by_word(sentence: Sequence[str], dictionary: Mapping[str, str]) -> list[str]:
    """Return the translation of each word in the order of the source; a word without one is copied."""
    return [dictionary.get(word, word) for word in sentence]


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
    """Return the words in the order that they have in the reference: an upper bound of what reordering can give.

    A word that the reference lacks follows the word that it followed before.
    """
    places = defaultdict[str, list[int]](list)
    for place in range(len(reference) - 1, -1, -1):
        places[reference[place]].append(place)
    keys, last = list[tuple[int, int]](), -1
    for number, word in enumerate(words):
        last = places[word].pop() if places.get(word) else last
        keys.append((last, number))
    return [words[number] for _, number in sorted(keys)]
