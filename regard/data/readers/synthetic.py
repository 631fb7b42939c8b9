"""Readers of examples that are made by a rule and a seed, without files."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.data.examples import Example
from regard.data.readers.reader import Reader, check_columns
from regard.errors import PartError

ExampleCount = Annotated[Size, Doc("Number of generated examples.")]
DrawSeed = Annotated[Count, Doc("Random seed of the generated examples.")]
Length = Annotated[Size, Doc("Maximum length of an example, in rows.")]
ShortestLength = Annotated[Size | None, Doc("Minimum length of an example, in rows; null: equal to the maximum.")]


class SyntheticReader(Reader):
    """Each example is a function of (rule, seed, number) alone: any part of them can be made again."""

    files = ()

    def __init__(self, columns: tuple[str, ...], kinds: int, rule: str, examples: int, seed: int) -> None:
        """`kinds` is how many columns the rule, in words, makes. Raises PartError for a task of more or fewer."""
        hint = "copying and adding are for algorithmic, counting is for language_model"
        check_columns(columns, kinds, f"makes examples of {kinds} columns", hint)
        self.columns, self.rule, self.examples, self.seed = tuple(columns), rule, examples, seed

    def key(self) -> str:
        """The rule and the draws, in words: messages name it, too."""
        return f"{self.examples} examples of {self.rule}, seed {self.seed}"

    @abstractmethod
    def make(self, draws: np.random.Generator) -> tuple[str, ...]:
        """Return the values of one example, a column each."""

    def __iter__(self) -> Iterator[Example]:
        for number in range(1, self.examples + 1):
            draws = np.random.Generator(np.random.PCG64((self.seed, number)))
            yield Example(number, dict(zip(self.columns, self.make(draws), strict=True)))


class LengthRange:
    """The lengths that examples may have, from the shortest to the longest; in words 5, or 2 to 5."""

    def __init__(self, length: int, shortest: int | None, least: int = 1) -> None:
        """Raise PartError for a range of nothing, or of fewer than `least`. `shortest` None: all are of one length."""
        self.first, self.last = length if shortest is None else shortest, length
        if self.first > length:
            raise PartError(
                f"is {self.first}, more than the length of {length}", "a smaller number", setting="shortest"
            )
        if self.first < least:
            setting = "length" if shortest is None else "shortest"
            raise PartError(f"is {self.first}", f"at least {least}", setting=setting)

    def __str__(self) -> str:
        return f"{self.last}" if self.first == self.last else f"{self.first} to {self.last}"

    def draw(self, draws: np.random.Generator) -> int:
        """Return one of the lengths, each as likely as any other."""
        return int(draws.integers(self.first, self.last + 1))
