"""The shift property of sinusoidal positions (https://arxiv.org/abs/1706.03762, section 3.5): PE(p + k) = R_k PE(p).

    python benchmarks/shift.py

R_k is found by least squares over 512 places and set beside the rotations by k / 10000^(2i/d) in closed form; and
PE(p) · PE(p + k) must depend on k alone.
"""

from collections.abc import Iterator

import torch
from program import head, options, row
from torch import Tensor

from regard.layers.positions.sinusoidal import sinusoids

DIMS, SHIFTS, PLACES = (16, 64, 512), (1, 2, 7, 40, 100), 512


def vectors(dim: int, count: int) -> Tensor:
    """(place, dim) in float64: what is asked is a property of the formula."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return sinusoids(torch.arange(count), dim)
    finally:
        torch.set_default_dtype(before)


def rotation(dim: int, shift: int) -> Tensor:
    """R (dim, dim) with PE(p + shift) = R PE(p): a rotation of each sine with its cosine."""
    angles = shift * 1e4 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    blocks = torch.stack([angles.cos(), angles.sin(), -angles.sin(), angles.cos()], dim=-1).view(-1, 2, 2)
    return torch.block_diag(*blocks)


def residuals(dim: int, shift: int) -> tuple[float, float]:
    """Return the largest error of PE(p + shift) by the closed form, and by the matrix that least squares finds."""
    every = vectors(dim, PLACES + shift)
    here, there = every[:PLACES], every[shift:]
    solved = torch.linalg.lstsq(here, there, driver="gelsd").solution
    closed, found = (float((here @ one - there).abs().max()) for one in (rotation(dim, shift).t(), solved))
    return closed, found


def spread(dim: int, shift: int) -> float:
    """Return how much PE(p) · PE(p ± shift) differs between places and between both ways."""
    every = vectors(dim, PLACES)
    products = (every[:-shift] * every[shift:]).sum(dim=-1)  # of p with p + shift, and of p + shift with p
    return float(products.max() - products.min())


def report() -> Iterator[str]:
    """Markdown: a row for each width, the worst of all shifts."""
    yield head("d", "error by rotations", "error by least squares", "PE(p) · PE(p + k) differs by")
    for dim in DIMS:
        closed, solved = (max(found) for found in zip(*(residuals(dim, shift) for shift in SHIFTS), strict=True))
        worst = max(spread(dim, shift) for shift in SHIFTS)
        yield row(dim, *(f"{one:.1g}" for one in (closed, solved, worst)))


if __name__ == "__main__":
    options(__doc__).parse_args()
    print("\n".join(report()))
