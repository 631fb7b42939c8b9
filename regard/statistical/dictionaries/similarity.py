"""Self-learning from distributions of similarity: https://aclanthology.org/P18-1073 (VecMap)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Positive, Ratio, Size
from regard.statistical.dictionaries.method import DictionaryMethod, Space, SpaceMaps
from regard.statistical.dictionaries.spaces import PairRows, centred_units, csls, procrustes

_GAIN = 1e-4  # of the mean score that counts as one
_DOUBLED = 2.0  # share of kept similarities, each time that nothing is gained


class SimilaritySelfLearning(DictionaryMethod):
    """Match words by their sorted similarities to all other words, then learn dictionary and map in turns.

    Needs no seed. Similarities are dropped at random, fewer and fewer, so that learning leaves poor solutions
    (section 3.3); the last map re-weights common directions by how far both languages agree on them (section 3.4).
    """

    def __init__(
        self,
        *,
        start_words: Annotated[Size, Doc("Number of most frequent words used for the first dictionary.")] = 4_000,
        words: Annotated[Size, Doc("Number of most frequent words used for later dictionaries.")] = 5_000,
        keep: Annotated[Ratio, Doc("Keep probability of a similarity in the first dictionaries.")] = 0.1,
        patience: Annotated[Size, Doc("Rounds without improvement before the keep probability doubles.")] = 10,
        reweighting: Annotated[Positive, Doc("Exponent of the singular values in the final map.")] = 0.5,
    ) -> None:
        self.start_words, self.words, self.keep = start_words, words, keep
        self.patience, self.reweighting = patience, reweighting

    @torch.no_grad()
    def fit(self, source: Space, target: Space, generator: torch.Generator) -> SpaceMaps:
        one, other = source.head(self.words), target.head(self.words)
        pairs = self._learned(one, other, self._first_pairs(source, target, generator), generator)
        return _reweighted(one[pairs.source], other[pairs.target], self.reweighting)

    def _first_pairs(self, source: Space, target: Space, generator: torch.Generator) -> PairRows:
        count = min(self.start_words, len(source.words), len(target.words))
        rows, others = (_similarity_rows(one.head(count)) for one in (source, target))
        return _sampled_pairs(rows, others, 1.0, generator)[0]

    def _learned(self, source: Tensor, target: Tensor, pairs: PairRows, generator: torch.Generator) -> PairRows:
        """Return the dictionary at which learning ends: nothing gained although every similarity is kept."""
        keep, best, since = self.keep, float("-inf"), 0
        while True:
            mapped = source @ procrustes(source[pairs.source], target[pairs.target])
            pairs, score = _sampled_pairs(mapped, target, keep, generator)
            since = 0 if score > best + _GAIN else since + 1
            best = max(best, score)
            if since >= (self.patience if keep < 1 else 1):
                if keep >= 1:
                    return pairs
                keep, since = min(1.0, _DOUBLED * keep), 0


def _sampled_pairs(source: Tensor, target: Tensor, keep: float, generator: torch.Generator) -> tuple[PairRows, float]:
    """Return each row's best match by CSLS in the other space, where a similarity stands with probability `keep`.

    The mean score beside them is that of all similarities, so that rounds can be compared.
    """
    table = torch.cat([*csls(source, target)])
    score = (table.amax(dim=1).mean() + table.amax(dim=0).mean()) / 2
    if keep < 1:
        table.masked_fill_(torch.rand(table.shape, generator=generator) >= keep, float("-inf"))
    rows, columns = torch.arange(len(source)), torch.arange(len(target))
    pairs = PairRows(torch.cat([rows, table.argmax(dim=0)]), torch.cat([table.argmax(dim=1), columns]))
    return pairs, float(score)


def _similarity_rows(vectors: Tensor) -> Tensor:
    """Return each word's similarities to all words, sorted (word, word): rows that languages have in common.

    The similarities are the square root of the matrix of cosines, which the paper found to be the better start.
    """
    left, values, _ = torch.linalg.svd(vectors, full_matrices=False)
    return centred_units(((left * values) @ left.T).sort(dim=1).values)


def _reweighted(source: Tensor, target: Tensor, power: float) -> SpaceMaps:
    """Return maps that whiten, rotate, re-weight by the correlation of directions, and undo the whitening."""
    whitened, unwhitened = zip(*(_whitening(one) for one in (source, target)), strict=True)
    left, values, right = torch.linalg.svd((source @ whitened[0]).T @ (target @ whitened[1]))
    strengths = values.pow(power)
    sides = zip(whitened, unwhitened, (left, right.T), strict=True)
    return SpaceMaps(*((white @ turn * strengths) @ (turn.T @ back @ turn) for white, back, turn in sides))


def _whitening(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the matrix (dim, dim) that makes directions uncorrelated, and its inverse."""
    _, values, right = torch.linalg.svd(vectors, full_matrices=False)
    values = values.clamp_min(values.max() * 1e-6)
    return (right.T / values) @ right, (right.T * values) @ right
