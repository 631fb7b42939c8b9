"""Random cuttings that depend on text and seed alone. sentencepiece draws from one generator per thread, which neither
a resumed run nor a second worker could repeat.
"""

import math
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

_WORD = re.compile("\u2581*[^\u2581]+|\u2581+", re.DOTALL)
_LONGEST = 200  # characters cut together; a longer "word" is taken in such parts
_PIECE = 16  # characters of a piece, sentencepiece's own limit


class Sampler(ABC):
    """Cuts words at random into known pieces; characters without a piece are spelt in bytes."""

    def __init__(
        self, ids: Mapping[str, int], scores: Mapping[str, float], bytes_: Mapping[int, int], strength: float
    ) -> None:
        self.ids, self.scores, self.bytes, self.strength = ids, scores, bytes_, strength

    def cut(self, text: str, seed: int) -> list[int]:
        """Text with spaces as U+2581 → ids."""
        draws = random.Random(seed)
        found = []
        for word in _WORD.findall(text):
            for place in range(0, len(word), _LONGEST):
                for piece in self.pieces(word[place : place + _LONGEST], draws):
                    known = self.ids.get(piece)
                    found += [known] if known is not None else [self.bytes[byte] for byte in piece.encode()]
        return found

    @abstractmethod
    def pieces(self, word: str, draws: random.Random) -> list[str]:
        """One word cut at random; joined again the pieces are the word."""


class BpeSampler(Sampler):
    """BPE-dropout (https://arxiv.org/abs/1910.13267): each merge is left out with probability `strength`."""

    def pieces(self, word: str, draws: random.Random) -> list[str]:
        """Merges the best pair that is not left out, until none remains."""
        parts = list(word)
        while len(parts) > 1:
            best, place = -math.inf, -1
            for left in range(len(parts) - 1):
                score = self.scores.get(parts[left] + parts[left + 1])
                if score is not None and score > best and draws.random() >= self.strength:
                    best, place = score, left
            if place < 0:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts


class UnigramSampler(Sampler):
    """Draws a cutting with probability ∝ p(cutting)^strength (https://arxiv.org/abs/1804.10959, section 3.3): forward
    filtering, backward sampling over all cuttings of the word.
    """

    UNKNOWN = -20.0  # log-probability of a character without a piece, below all others

    def pieces(self, word: str, draws: random.Random) -> list[str]:
        """An exact draw."""
        before: list[list[tuple[int, float]]] = [[] for _ in range(len(word) + 1)]
        total = [0.0] + [-math.inf] * len(word)
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - _PIECE), end):
                score = self.scores.get(word[start:end])
                if score is None and end - start == 1:
                    score = self.UNKNOWN
                if score is not None:
                    before[end].append((start, total[start] + self.strength * score))
            total[end] = _log_sum(ways for _, ways in before[end])
        parts, end = [], len(word)
        while end > 0:
            chances = [math.exp(ways - total[end]) for _, ways in before[end]]
            ((start, _),) = draws.choices(before[end], chances)
            parts.append(word[start:end])
            end = start
        return parts[::-1]


def _log_sum(values: Iterable[float]) -> float:
    found = list(values)
    top = max(found)
    return top + math.log(sum(math.exp(value - top) for value in found))
