"""The contract of perturbations: a text → the same with some words changed, so that a person still understands it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.config import Doc
from regard.config.bounds import Count, Ratio
from regard.scripts import UNSPACED
from regard.text.vector_table import VectorTable

_WORD = re.compile(rf"([{UNSPACED}]|(?:(?![{UNSPACED}])\w)+(?:['’]\w+)*)")

Vectors = Callable[[], VectorTable]  # of the words that may stand in a text; asked for by who needs them

ChangeProbability = Annotated[Ratio, Doc("Perturbation probability of a word.")]
ChangeSeed = Annotated[Count, Doc("Random seed of the perturbations.")]
RANDOM_NUMBERS = 3  # numbers in [0, 1) for each word: whether, where and how it is changed


def changeable_words(text: str) -> list[str]:
    """Return the words that may be changed; a character of a script without spaces is one."""
    return _WORD.findall(text)


class Perturbation(ABC):
    """A change of words. A row of PERTURBATIONS, built with (vectors), which some rows ignore.

    Samples depend on (seed, line) alone, and a word that changes at a small probability does so at a larger one.
    """

    def __init__(self, vectors: Vectors, *, probability: ChangeProbability = 0.1, seed: ChangeSeed = 1) -> None:
        self.probability, self.seed = probability, seed

    def __call__(self, text: str, line: int) -> str:
        """Return the text of a line with words changed; what stands between words stays."""
        cut = _WORD.split(text)
        words = cut[1::2]
        rng = np.random.default_rng((self.seed, line)).random((len(words), RANDOM_NUMBERS))
        cut[1::2] = self.changed(words, rng[:, 0] < self.probability, rng[:, 1:])
        return "".join(cut)

    @abstractmethod
    def changed(self, words: Sequence[str], chosen: NDArray[np.bool_], rng: Floats) -> list[str]:
        """Return as many words, those `chosen` (n,) changed by the random numbers (n, 2); one may become empty."""


class WordPerturbation(Perturbation):
    """A change of each word by itself."""

    def changed(self, words: Sequence[str], chosen: NDArray[np.bool_], rng: Floats) -> list[str]:
        return [
            self.of_word(word, *numbers.tolist()) if taken else word
            for word, taken, numbers in zip(words, chosen, rng, strict=True)
        ]

    @abstractmethod
    def of_word(self, word: str, where: float, how: float) -> str:
        """Return the changed word, as two numbers in [0, 1) have it; itself where it cannot be changed."""


def cased_as(word: str, model: str) -> str:
    """Return a word in capitals, or with one at its start, where another one has them."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
