"""Words and their vectors: which are near, which complete an analogy."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, nearest

Float32s = NDArray[np.float32]
_MOST = 2**33  # bytes of all vectors that are held in memory


class Neighbour(NamedTuple):
    """A word and how near it is."""

    word: str
    cosine: float


class VectorTable:
    """Vectors (word, dim), nearness being the cosine."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.floating]) -> None:
        self.words, self.vectors = list(words), np.asarray(vectors, np.float32)
        self._places = {word: place for place, word in reversed(list(enumerate(self.words)))}
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        self._directions = self.vectors / np.where(lengths > 0, lengths, 1)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._places

    def __iter__(self) -> Iterator[tuple[str, Float32s]]:
        return zip(self.words, self.vectors, strict=True)

    def vector(self, word: str) -> Float32s:
        """Return the vector of a word. Raises DataError for one that is not there."""
        return self.vectors[self._place(word)]

    def direction(self, word: str) -> Float32s:
        """Return the vector of a word, of length 1. Raises DataError for one that is not there."""
        found: Float32s = self._directions[self._place(word)]
        return found

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of two words."""
        return float(self.direction(one) @ self.direction(other))

    def nearest(self, word: str, count: int = 10) -> list[Neighbour]:
        """Return the words nearest to a word, itself left out."""
        return self.near(self._directions[self._place(word)], count, without=[word])

    def analogy(self, one: str, other: str, third: str, count: int = 10) -> list[Neighbour]:
        """Return the words d of "`one` is to `other` as `third` is to d": nearest to other - one + third."""
        a, b, c = (self._directions[self._place(word)] for word in (one, other, third))
        return self.near(b - a + c, count, without=[one, other, third])

    def near(self, vector: NDArray[np.floating], count: int, *, without: Sequence[str] = ()) -> list[Neighbour]:
        """Return the words nearest to a vector (dim,), the nearest first; of equals the first of the table."""
        length = float(np.linalg.norm(vector)) or 1.0
        cosines = self._directions @ (np.asarray(vector, np.float32) / np.float32(length))
        left = {self._places[word] for word in without if word in self._places}
        order = np.argsort(-cosines, kind="stable")[: count + len(left)]
        return [Neighbour(self.words[place], float(cosines[place])) for place in order if place not in left][:count]

    def _place(self, word: str) -> int:
        if word not in self._places:
            near = nearest(word, self._places)  # of thousands of words only one that is spelt alike is a help
            hint = near if near.startswith("did") else f"{len(self):,} words have one"
            raise DataError("vectors", f"there is no vector of '{word:.60}'", hint=hint)
        return self._places[word]


def check_size(path: Path, words: int, dim: int) -> None:
    """Raise DataError for more vectors than are held in memory."""
    if 4 * words * dim > _MOST:
        problem = f"has more than {_MOST // (4 * dim):,} words of {dim:,} numbers, which are {_MOST >> 30} GiB"
        raise DataError(path, problem, hint="keep the first, most frequent ones")
