"""Which combinations of words are kept for the test part."""

import hashlib
from collections.abc import Iterator
from functools import cache

from regard.data.toy.trees import RuleTree

_SHARE = 0.05
SALT = b"toy-51225"  # one that leaves every verb, and every adjective in each gender, three quarters of its partners

_Pair = tuple[str, str]


@cache
def is_held_out(first: str, second: str) -> bool:
    """Return whether these two words never meet in the train part; the words alone decide, so the same everywhere."""
    digest = hashlib.blake2b(f"{first}\t{second}".encode(), digest_size=8, person=SALT).digest()
    return int.from_bytes(digest, "little") < _SHARE * 2**64


def combinations(tree: RuleTree) -> Iterator[_Pair]:
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
    """Return whether the sentence holds a combination of the test part."""
    return any(is_held_out(*pair) for pair in combinations(sentence))
