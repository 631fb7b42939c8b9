"""Methods that find a map between two spaces of words, and refinement by the map's own dictionary."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from regard.statistical.dictionaries.spaces import mean_csls, mutual_pairs, procrustes

FREQUENT = 10_000  # first words of a table, by which maps are learned and compared


class Space(NamedTuple):
    """Words of one language, the most frequent first, and their centred_units vectors."""

    words: list[str]
    vectors: Tensor  # (word, dim)

    def head(self, count: int) -> Tensor:
        """Return the vectors of the most frequent words."""
        return self.vectors[:count]


class SpaceMaps(NamedTuple):
    """Linear maps of both spaces into a common one."""

    source: Tensor  # (dim, common)
    target: Tensor  # (dim, common)

    def apply(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return mapped vectors of length 1."""
        unit = torch.nn.functional.normalize
        return unit(source @ self.source, dim=1), unit(target @ self.target, dim=1)


class DictionaryMethod(ABC):
    """A row of DICTIONARY_METHODS: learns maps of two spaces into a common one."""

    @abstractmethod
    def fit(self, source: Space, target: Space, generator: torch.Generator) -> SpaceMaps:
        """Return the maps. Raises PartError where the words give no start."""


def rotation(matrix: Tensor) -> SpaceMaps:
    """Return the maps of a space that is rotated into the other one."""
    return SpaceMaps(matrix, torch.eye(len(matrix)))


@torch.no_grad()
def refined(source: Tensor, target: Tensor, start: Tensor, rounds: int) -> Tensor:
    """Return the best of the rotations that follow from `start`.

    Each round takes the mutual best matches by CSLS as a dictionary and solves Procrustes for it (section 2.2 of
    https://arxiv.org/abs/1710.04087); the best is the one with the highest mean CSLS. Ends where a round gains nothing.
    """
    best, highest = start, mean_csls(source @ start, target)
    for _ in range(rounds):
        pairs = mutual_pairs(source @ best, target)
        if not len(pairs.source):
            return best
        found = procrustes(source[pairs.source], target[pairs.target])
        score = mean_csls(source @ found, target)
        if score <= highest:
            return best
        best, highest = found, score
    return best
