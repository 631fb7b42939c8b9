"""Why dot products are scaled (https://arxiv.org/abs/1706.03762, section 3.2.1, footnote 4): variance and saturation.

    python benchmarks/saturation.py [--steps 150]

Of queries and keys of independent N(0, 1) numbers: the variance of their products, and of the softmax over 32 keys its
entropy and the size of its Jacobian, with and without the scale 1 / sqrt(d). Then how well a network learns to find
the one key of 16 that its query was made of, by each score.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from program import head, options, row
from torch import Tensor, nn

from regard.attention import SCORES
from regard.registry import Choice

DIMS = (4, 16, 64, 256, 1024)
PAIRS, CHUNK = 100_000, 10_000  # products that a variance is of, and those that are made at once
KEYS, QUERIES = 32, 2_000  # of each softmax, and how many are looked at
SCORED, WIDTHS = ("dot", "scaled_dot", "additive"), (16, 512)  # scores and widths that are learnt with
FOUND_AMONG, ROWS, NOISE = 16, 64, 0.1


def variance(dim: int) -> float:
    """Return the variance of q · k divided by d; 1 in theory."""
    draws = torch.Generator().manual_seed(1)
    products = [
        (torch.randn(CHUNK, dim, generator=draws) * torch.randn(CHUNK, dim, generator=draws)).sum(dim=-1)
        for _ in range(PAIRS // CHUNK)
    ]
    return float(torch.cat(products).var()) / dim


def entropy(weights: Tensor) -> Tensor:
    """weights (..., key) → nats (...)."""
    return -torch.special.xlogy(weights, weights).sum(dim=-1)


def jacobian_norm(weights: Tensor) -> Tensor:
    """weights (..., key) of a softmax → the Frobenius norm (...) of its Jacobian, diag(a) - a aᵀ."""
    squares = weights.square().sum(dim=-1)
    return (squares - 2 * weights.pow(3).sum(dim=-1) + squares.square()).clamp(min=0).sqrt()


def saturation(dim: int, scale: float) -> tuple[float, float]:
    """Return the mean entropy, as a share of that of equal weights, and the mean size of the Jacobian."""
    draws = torch.Generator().manual_seed(2)
    queries, keys = torch.randn(QUERIES, 1, dim, generator=draws), torch.randn(1, KEYS, dim, generator=draws)
    weights = (scale * queries @ keys.transpose(1, 2)).softmax(dim=-1).squeeze(1)
    return float(entropy(weights).mean()) / math.log(KEYS), float(jacobian_norm(weights).mean())


def retrieval(name: str, dim: int, steps: int) -> float:
    """Return how often the right key is found, in per cent of the last tenth of the steps."""
    torch.manual_seed(3)
    score, to_query, to_key = SCORES.build(Choice(name), dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
    turn = torch.linalg.qr(torch.randn(dim, dim))[0]  # queries are keys turned round, with noise
    optimizer = torch.optim.Adam([*score.parameters(), *to_query.parameters(), *to_key.parameters()], lr=1e-3)
    for layer in (to_query, to_key):
        nn.init.normal_(layer.weight, std=dim**-0.5)
    right = []
    for _ in range(steps):
        keys, wanted = torch.randn(ROWS, FOUND_AMONG, dim), torch.randint(FOUND_AMONG, (ROWS,))
        queries = keys[torch.arange(ROWS), wanted] @ turn + NOISE * torch.randn(ROWS, dim)
        scores = score(to_query(queries).unsqueeze(1), score.prepare(to_key(keys)), None).squeeze(1)
        loss = nn.functional.cross_entropy(scores, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right.append(float((scores.argmax(dim=-1) == wanted).float().mean()))
    last = right[-max(steps // 10, 1) :]
    return 100 * sum(last) / len(last)


def report(dims: Sequence[int], widths: Sequence[int], steps: int) -> Iterator[str]:
    """Markdown: a row for each width."""
    names = (f"{what}, {way}" for what in ("entropy", "Jacobian") for way in ("scaled", "not scaled"))
    yield head("d", "Var(q · k) / d", *names)
    for dim in dims:
        (scaled, steep), (plain, flat) = saturation(dim, dim**-0.5), saturation(dim, 1.0)
        yield row(dim, *(f"{one:.3f}" for one in (variance(dim), scaled, plain, steep, flat)))
    yield f"\n{head('d', *SCORED)}"
    for dim in widths:
        yield row(dim, *(f"{retrieval(name, dim, steps):.0f} %" for name in SCORED))


def main() -> None:
    """Prints both tables."""
    for line in report(DIMS, WIDTHS, options(__doc__, steps=150).parse_args().steps):
        print(line, flush=True)


if __name__ == "__main__":
    main()
