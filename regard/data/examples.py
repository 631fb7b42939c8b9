"""Examples: the records that readers stream."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from regard.text.clean import clean

ColumnTexts = Mapping[str, str]  # of one example, by column, as its file spells them


class Codec(Protocol):
    """Values → ids: a column, or a tokenizer by itself."""

    samples: bool  # True: `sample` differs from `encode`

    def __len__(self) -> int: ...

    def key(self) -> str:
        """Return a SHA-256 of everything that determines the ids."""

    def encode_batch(self, values: Sequence[str], /) -> list[list[int]]:
        """Return the ids of each value."""

    def sample(self, value: str, seed: int, /) -> list[int]:
        """Return ids sampled by the value and `seed` alone."""


class Example(NamedTuple):
    """One line of a data set, as its file spells it."""

    line: int  # in its file, from 1
    texts: ColumnTexts


def position(key: str, seed: int = 0) -> float:
    """Return a pseudo-random position between 0 and 1 for the examples of a key: see `Reader.grouped`.

    It depends on the cleaned key alone, so all copies of a sentence fall on one side of a split, and new lines do not
    move others.
    """
    salt = seed.to_bytes(8, "little", signed=True)
    digest = hashlib.blake2b(clean(key).encode(), digest_size=8, salt=salt).digest()
    return int.from_bytes(digest, "little") / 2**64
