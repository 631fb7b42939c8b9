"""Attention as smoothing by a kernel (Nadaraya 1964, Watson 1964; https://arxiv.org/abs/1908.11775), and kernels.

context = sum_j K(query, key_j) value_j / sum_j K(query, key_j); with K = exp(q · k / sqrt(dim)) it is scaled dot
attention. A kernel is an inner product in a feature space, so the Gram matrix of any points is positive semidefinite;
another kernel gives another attention. The kernel of orthogonal polynomials here has features that can be written down.
Pure functions of (..., points, dim), for study, not for speed.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from regard.aliases import known_as

Similarity = Callable[[Tensor, Tensor], Tensor]  # (..., n, dim), (..., m, dim) → (..., n, m)


def exponential(first: Tensor, second: Tensor) -> Tensor:
    """exp(x · y / sqrt(dim)): what softmax attention smooths with. Its features are all monomials."""
    return torch.exp(first @ second.mT / math.sqrt(first.shape[-1]))


@known_as("kernel, kernel_view, nadaraya_watson, 核")
def smoothed(queries: Tensor, keys: Tensor, values: Tensor, kernel: Similarity, mask: Tensor | None = None) -> Tensor:
    """sum_j K(query, key_j) value_j / sum_j K(query, key_j); zero where mask (..., key) shows no key."""
    likeness = kernel(queries, keys)
    if mask is not None:
        likeness = likeness.masked_fill(~mask.unsqueeze(-2), 0.0)
    total = likeness.sum(dim=-1, keepdim=True)
    return likeness @ values / torch.where(total == 0, 1.0, total)


def gram(points: Tensor, kernel: Similarity) -> Tensor:
    """K(x_i, x_j) of all pairs: points (..., n, dim) → (..., n, n)."""
    return kernel(points, points)


def chebyshev(numbers: Tensor, degree: int) -> Tensor:
    """T_0 … T_degree: T_0 = 1, T_1 = x, T_i = 2 x T_(i-1) - T_(i-2). x (...) in [-1, 1] → (..., degree + 1)."""
    terms = [torch.ones_like(numbers), numbers]
    while len(terms) <= degree:
        terms.append(2 * numbers * terms[-1] - terms[-2])
    return torch.stack(terms[: degree + 1], dim=-1)


@known_as("orthogonal_kernel, orthogonal_kernel_function, chebyshev, 正交核, 正交核函数")
def chebyshev_kernel(first: Tensor, second: Tensor, *, degree: int = 3) -> Tensor:
    """prod_f sum_i T_i(x_f) T_i(y_f), features f in [-1, 1] (https://doi.org/10.1016/j.asoc.2017.08.010)."""
    features = (chebyshev(some.transpose(-2, -1), degree) for some in (first, second))  # (..., dim, points, degree + 1)
    one, other = features
    return (one @ other.mT).prod(dim=-3)
