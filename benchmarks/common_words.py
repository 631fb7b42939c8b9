"""How many next sentences can be told by common words alone, on Brown, for spans of so many sentences.

    REGARD_DATA=FOLDER python benchmarks/common_words.py

Two texts are as near as the cosine of their sets of words, each with the weight log(texts / texts with it); above a
threshold it is `next`. The training part chooses the threshold, four draws of the dev part judge it.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from program import DATA, options

from regard.data.readers.next_sentence import NEXT, NextSentenceReader

COLUMNS = ("first", "second", "label")
SPANS = (1, 3, 4, 5, 12)
ROUNDS = 4


def main() -> None:
    """Prints the share of the dev part that is told right."""
    options(__doc__).parse_args()
    for sentences in SPANS:
        train, dev = drawn("train", sentences), drawn("dev", sentences)
        counts = Counter(word for texts in train for word in words(texts["first"]))
        weights = {word: math.log(len(train) / (1 + count)) ** 2 for word, count in counts.items()}
        rare = math.log(len(train)) ** 2
        border = threshold(sorted((nearness(one, weights, rare), one["label"] == NEXT) for one in train))
        right = sum((nearness(one, weights, rare) > border) == (one["label"] == NEXT) for one in dev)
        print(f"{sentences:2} sentences: {100 * right / len(dev):.1f} % of {len(dev):,} pairs")


def drawn(part: Literal["train", "dev"], sentences: int) -> list[Mapping[str, str]]:
    """The pairs of a part."""
    folder = DATA / "brown"
    rounds = ROUNDS if part == "dev" else 1
    file, index = str(folder / "brown.txt.gz"), str(folder / "brown.files.tsv")
    return [
        one.texts
        for one in NextSentenceReader(COLUMNS, file=file, index=index, part=part, sentences=sentences, rounds=rounds)
    ]


def words(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(text.lower().split())


def nearness(texts: Mapping[str, str], weights: Mapping[str, float], rare: float) -> float:
    """The weighed cosine of two texts; a word that training has not is as rare as can be."""
    first, second = words(texts["first"]), words(texts["second"])
    own, other, common = (sum(weights.get(word, rare) for word in some) for some in (first, second, first & second))
    return common / math.sqrt(max(own * other, 1e-9))


def threshold(found: list[tuple[float, bool]]) -> float:
    """(nearness, whether next), the least near first → above which nearness `next` is right most often."""
    right = best = sum(is_next for _, is_next in found)
    border = -math.inf
    for near, is_next in found:
        right += -1 if is_next else 1
        if right > best:
            best, border = right, near
    return border


if __name__ == "__main__":
    main()
