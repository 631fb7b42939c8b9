"""Word-by-word translation with a dictionary, and two orders of its words (baselines of https://arxiv.org/abs/1711.00043)."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

from regard.statistical.ngram_model import NgramModel
from regard.text.words import cut_words

SWAP_ROUNDS = 10  # of swaps, at most


def word_by_word(sentence: Sequence[str], dictionary: Mapping[str, str]) -> list[str]:
    """Return the translation of each word in the order of the source; a word without one is copied."""
    return [dictionary.get(word, word) for word in sentence]


def in_words(line: str, dictionary: Mapping[str, str]) -> str:
    """Return a line word by word, with its spaces; signs, numbers and words without a translation are copied.

    A word that the dictionary has in lower case alone is translated so.
    """
    pieces = cut_words(line)
    words = [piece.strip() for piece in pieces]
    asked = [word if word in dictionary or word.lower() not in dictionary else word.lower() for word in words]
    lettered = {word: dictionary[word] for word in asked if word in dictionary and _is_word(word)}
    found = [
        new if new != old else word for word, old, new in zip(words, asked, word_by_word(asked, lettered), strict=True)
    ]
    spaces = [piece[: len(piece) - len(piece.lstrip())] for piece in pieces]
    return "".join(space + word for space, word in zip(spaces, found, strict=True)).strip()


def _is_word(text: str) -> bool:
    """Return whether a text has letters alone, with their marks."""
    return all(unicodedata.category(character)[0] in "LM" for character in text)


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
