"""Readers of examples that are made by a rule and a seed, without files."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.data.examples import Example
from regard.data.readers.reader import Reader
from regard.errors import PartError

Examples = Annotated[Size, Doc("How many examples are made.")]
Seed = Annotated[Count, Doc("Number that all draws come from: another one makes other examples.")]
Length = Annotated[Size, Doc("Rows of the longest example.")]
Shortest = Annotated[Size | None, Doc("Rows of the shortest example; null: all are of one length.")]


class SeededReader(Reader):
    """Each example is a function of (rule, seed, number) alone: any part of them can be made again."""

    files = ()

    def __init__(self, columns: tuple[str, ...], kinds: int, rule: str, examples: int, seed: int) -> None:
        """`kinds` is how many columns the rule, in words, makes. Raises PartError for a task of more or fewer."""
        if len(columns) != kinds:
            problem = f"makes examples of {kinds} columns, and the task has {len(columns)}: {', '.join(columns)}"
            raise PartError(problem, "copying and adding are for algorithmic, counting is for language_model")
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


def length_range(length: int, shortest: int | None, least: int = 1) -> range:
    """Return the lengths that examples may have. Raises PartError for a range of nothing, or of fewer than `least`."""
    first = length if shortest is None else shortest
    if first > length:
        raise PartError(f"is {first}, more than the length of {length}", "a smaller number", setting="shortest")
    if first < least:
        setting = "length" if shortest is None else "shortest"
        raise PartError(f"is {first}", f"at least {least}", setting=setting)
    return range(first, length + 1)


def spanned(lengths: range) -> str:
    """Return lengths in words: 5, or 2 to 5."""
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


def drawn_length(lengths: range, draws: np.random.Generator) -> int:
    """Return one of the lengths, each as likely as any other."""
    return int(draws.integers(lengths.start, lengths.stop))
