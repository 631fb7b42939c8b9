"""Pairs made by exchanging aligned phrases: still translations, never doubled, and drawn by the seed alone."""

import random
from collections.abc import Iterable
from itertools import pairwise

from regard.data.examples import Example
from regard.data.readers.reader import Reader
from regard.statistical.recombination import RecombinedPairs, recombined_pairs

WORDS = {
    "a": "ein", "red": "rot", "old": "alt", "dog": "hund", "cat": "katze", "bird": "vogel",
    "sees": "sieht", "hears": "hoert", "the": "das", "fish": "fisch",
}  # fmt: skip


def cipher(text: str) -> str:
    return " ".join(WORDS[word] for word in text.split()) + "."


def pairs_of(count: int) -> list[tuple[str, str]]:
    draws = random.Random(3)
    nouns, verbs, adjectives = ["dog", "cat", "bird", "fish"], ["sees", "hears"], ["red", "old"]
    texts = [
        f"a {draws.choice(adjectives)} {draws.choice(nouns)} {draws.choice(verbs)} the {draws.choice(nouns)}"
        for _ in range(count)
    ]
    return [(f"{text}.", cipher(text)) for text in dict.fromkeys(texts)]


def test_pairs_of_a_word_for_word_language_stay_translations() -> None:
    known = pairs_of(24)
    made = [pair for _, pair in recombined_pairs(known, 4, seed=1)]
    assert len(made) > 10
    assert [target for _, target in made] == [cipher(source.removesuffix(".")) for source, _ in made]


def test_no_pair_is_made_twice_and_none_is_known() -> None:
    known = pairs_of(24)
    made = [pair for _, pair in recombined_pairs(known, 8, seed=1)]
    assert len(set(made)) == len(made) and not set(made) & set(known)


def neighbours(texts: Iterable[str]) -> set[tuple[str, str]]:
    return {pair for text in texts for pair in pairwise(["<s>", *text.replace(".", " .").split(), "</s>"])}


def test_all_neighbours_of_words_are_known_ones() -> None:
    """A phrase is put between the words that it stands between elsewhere, on both sides."""
    known = pairs_of(24)
    made = [pair for _, pair in recombined_pairs(known, 4, seed=5)]
    for side in (0, 1):
        assert neighbours(pair[side] for pair in made) <= neighbours(pair[side] for pair in known)


def test_the_seed_draws() -> None:
    known = pairs_of(24)
    once, again, other = (list(recombined_pairs(known, 2, seed=seed)) for seed in (1, 1, 2))
    assert once == again != other


def test_pairs_without_a_common_neighbourhood_give_none() -> None:
    assert list(recombined_pairs([("one", "eins"), ("two three", "zwei drei")], 3, seed=1)) == []


def test_scripts_without_spaces_and_spaces_before_words_are_kept() -> None:
    known = [("我吃鱼。", "I eat fish."), ("我吃饭。", "I eat rice."), ("你吃饭。", "You eat rice.")] * 3
    made = {pair for _, pair in recombined_pairs(known, 6, seed=1)}
    assert made == {("你吃鱼。", "You eat fish.")}


class Known(Reader):
    columns, files = ("source", "target"), ()

    def key(self) -> str:
        return "known"

    def __iter__(self):
        return iter(Example(7 + n, dict(zip(self.columns, pair, strict=True))) for n, pair in enumerate(pairs_of(24)))


def test_a_reader_keeps_the_lines_that_pairs_were_made_of() -> None:
    reader = RecombinedPairs(Known(), 2, seed=1)
    made = list(recombined_pairs(pairs_of(24), 2, seed=1))
    assert [(one.line, (one.texts["source"], one.texts["target"])) for one in reader] == [(7 + n, p) for n, p in made]
    assert "known" in reader.key() and reader.key() != RecombinedPairs(Known(), 2, seed=2).key()
