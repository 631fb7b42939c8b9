"""A toy for demos and tests: sentence pairs without end, English to German or Chinese, from one hand-written grammar.

An English sentence has one translation. Some pairs of words (a verb and its object, an adjective and its noun) are
kept for the test part, so a model that does well there has learned to combine and not to recall.
"""

import random
from collections.abc import Iterator
from typing import Literal

from regard.data.toy.grammar import grammar
from regard.data.toy.held_out import in_test
from regard.data.toy.language import language as speaker
from regard.errors import ConfigError, nearest

LANGUAGES = {"de": "german", "zh": "chinese"}
MAX_WORDS = 14


def pairs(
    language: str, count: int, seed: int, *, part: Literal["train", "test"] = "train"
) -> Iterator[tuple[str, str]]:
    """`count` different (English, target) pairs in an order drawn from seed.

    No train sentence holds a combination of words that is kept for the test part, every test sentence holds one or
    more; so the parts have no sentence in common. Raises ConfigError for an unknown language.
    """
    if language not in LANGUAGES:
        raise ConfigError("toy.language", f"there is no '{language}'", nearest(language, LANGUAGES))
    if part not in ("train", "test"):
        raise ConfigError("toy.part", f"there is no '{part}'", nearest(part, ("train", "test")))
    return _sampled(LANGUAGES[language], count, random.Random(f"{seed}"), part == "test")


def _sampled(target: str, count: int, draws: random.Random, test: bool) -> Iterator[tuple[str, str]]:
    """Sample, and keep what is new and of the right part."""
    english, say, seen = speaker("english"), speaker(target), set[str]()
    while len(seen) < count:
        sentence = grammar().sentence(draws)
        if in_test(sentence) != test:
            continue
        source = english(sentence)
        if source not in seen and source.count(" ") < MAX_WORDS:
            seen.add(source)
            yield source, say(sentence)


__all__ = ["LANGUAGES", "pairs"]
