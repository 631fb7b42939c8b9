"""A toy for demos and tests: endless sentence pairs, English to German or Chinese, from a hand-written grammar.

An English sentence has one translation. Some pairs of words (a verb and its object, an adjective and its noun) are
kept for the test set, so a model that scores well there generalises to new combinations.
"""

import hashlib
import random
from collections.abc import Iterator
from functools import cache
from typing import Literal

from regard.data.toy.grammar import grammar
from regard.data.toy.language import language as speaker
from regard.data.toy.trees import RuleTree
from regard.errors import ConfigError, nearest

LANGUAGES = {"de": "german", "zh": "chinese"}
MAX_WORDS = 14

_HELD_OUT_SHARE = 0.05
_SALT = b"toy-51225"  # one that leaves every verb, and every adjective in each gender, three quarters of its partners


def pairs(
    language: str, count: int, seed: int, *, part: Literal["train", "test"] = "train"
) -> Iterator[tuple[str, str]]:
    """Yield `count` different (English, target) pairs in an order sampled from seed.

    No training sentence holds a combination of words that is kept for the test set; each test sentence holds at least
    one; so the sets have no sentence in common. Raises ConfigError for an unknown language.
    """
    if language not in LANGUAGES:
        raise ConfigError("toy.language", f"there is no '{language}'", nearest(language, LANGUAGES))
    if part not in ("train", "test"):
        raise ConfigError("toy.part", f"there is no '{part}'", nearest(part, ("train", "test")))
    return _sampled(LANGUAGES[language], count, random.Random(f"{seed}"), part == "test")


def _sampled(target: str, count: int, rng: random.Random, test: bool) -> Iterator[tuple[str, str]]:
    """Sample, and keep new sentences of the right part."""
    english, say, seen = speaker("english"), speaker(target), set[str]()
    while len(seen) < count:
        sentence = grammar().sentence(rng)
        if in_test(sentence) != test:
            continue
        source = english(sentence)
        if source not in seen and source.count(" ") < MAX_WORDS:
            seen.add(source)
            yield source, say(sentence)


@cache
def is_held_out(first: str, second: str) -> bool:
    """Return whether these two words never meet in the training set; it depends on the words alone."""
    digest = hashlib.blake2b(f"{first}\t{second}".encode(), digest_size=8, person=_SALT).digest()
    return int.from_bytes(digest, "little") < _HELD_OUT_SHARE * 2**64


def combinations(tree: RuleTree) -> Iterator[tuple[str, str]]:
    """Yield every verb with its object and every adjective with its noun, in English."""
    parts = vars(tree)
    described = parts.get("subject") if tree.rule == "quality" else tree
    for first, second in ((parts.get("verb"), parts.get("object")), (parts.get("adjective"), described)):
        noun = getattr(second, "noun", None)
        if first and noun:
            yield first.english, noun.english
    for part in parts.values():
        if isinstance(part, RuleTree):
            yield from combinations(part)


def in_test(sentence: RuleTree) -> bool:
    """Return whether the sentence holds a combination of the test set."""
    return any(is_held_out(*pair) for pair in combinations(sentence))
