"""Each symbol becomes another one, sampled once."""

import random
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Seed
from regard.text.ciphers.cipher import Cipher


class SubstitutionCipher(Cipher):
    """c = π(p), π a sampled permutation: a monoalphabetic substitution."""

    aliases = "monoalphabetic, simple_substitution"

    def __init__(self, *, seed: Annotated[Seed, Doc("Random seed of the permutation.")] = 1) -> None:
        self.seed = seed

    def tables(self, size: int) -> list[list[int]]:
        table = [*range(size)]
        random.Random(f"substitution {self.seed}").shuffle(table)
        return [table]
