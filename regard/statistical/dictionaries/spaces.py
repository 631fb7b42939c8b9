"""Similarity of words across two spaces: cosines corrected for hubs (CSLS), and maps by Procrustes."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

DENSITY_NEIGHBOURS = 10  # of a word that tell how dense its space is
_ROWS = 1024  # of a table of similarities that are computed together


class PairRows(NamedTuple):
    """Rows of two spaces that translate each other."""

    source: Tensor  # (pair,)
    target: Tensor  # (pair,)


class Matches(NamedTuple):
    """The best translations of each word."""

    places: Tensor  # (word, count), the best first
    scores: Tensor  # (word, count), their CSLS


def centred_units(vectors: Tensor) -> Tensor:
    """Return vectors (word, dim) of length 1 whose mean is near 0: unit length, centred, unit length."""
    units = normalize(vectors, dim=1)
    return normalize(units - units.mean(dim=0), dim=1)


def procrustes(source: Tensor, target: Tensor) -> Tensor:
    """Return the orthogonal map W (dim, dim) with the least |source W - target|, rows being pairs (pair, dim).

    W = U Vᵀ of the singular value decomposition of sourceᵀ target (Schönemann 1966).
    """
    left, _, right = torch.linalg.svd(source.T @ target)
    return left @ right


def principal_axes(vectors: Tensor) -> Tensor:
    """Return the principal axes of vectors (word, dim) as columns, by falling variance: (dim, dim).

    The third moment along each axis is positive, so that the axes of rotated vectors are the rotated axes.
    """
    centred = vectors - vectors.mean(dim=0)
    axes = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1)  # a whole basis, of few words, too
    return axes * torch.where((vectors @ axes).pow(3).sum(dim=0) < 0, -1.0, 1.0)


def csls(source: Tensor, target: Tensor, neighbours: int = DENSITY_NEIGHBOURS) -> Iterator[Tensor]:
    """Yield 2 cos(x, y) - r(x) - r(y) of unit vectors, a block of source rows (rows, target) at a time.

    r is the mean cosine of a word and its `neighbours` nearest ones in the other space, by which words that are near to
    all lose what they have gained (equation 5 of https://arxiv.org/abs/1710.04087).
    """
    of_target = _density(target, source, neighbours)
    of_source = _density(source, target, neighbours)
    for rows, dense in zip(source.split(_ROWS), of_source.split(_ROWS), strict=True):
        yield (rows @ target.T).mul_(2).sub_(dense[:, None]).sub_(of_target)


def matches(source: Tensor, target: Tensor, count: int = 1) -> Matches:
    """Return the `count` target rows of highest CSLS for each source row."""
    best = [block.topk(min(count, len(target)), dim=1) for block in csls(source, target)]
    return Matches(torch.cat([one.indices for one in best]), torch.cat([one.values for one in best]))


def mutual_pairs(source: Tensor, target: Tensor) -> PairRows:
    """Return the pairs of rows of which each is the other's best match by CSLS."""
    there, back = (matches(*spaces).places[:, 0] for spaces in ((source, target), (target, source)))
    own = torch.arange(len(source))
    kept = back[there] == own
    return PairRows(own[kept], there[kept])


def mean_csls(source: Tensor, target: Tensor) -> float:
    """Return the mean CSLS of source rows and their best matches: a measure of a map that needs no dictionary."""
    return float(matches(source, target).scores.mean())


def _density(rows: Tensor, others: Tensor, neighbours: int) -> Tensor:
    """Return the mean cosine (row,) of rows and their nearest neighbours among others."""
    count = min(neighbours, len(others))
    return torch.cat([(part @ others.T).topk(count, dim=1).values.mean(dim=1) for part in rows.split(_ROWS)])
