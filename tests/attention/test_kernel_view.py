"""Attention as smoothing by a kernel, and what makes a kernel one."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention.kernel_view import chebyshev, chebyshev_kernel, exponential, gram, smoothed
from regard.models import AttentionSettings, build_attention

DIM = 4
LENGTHS = [6, 2, 0]
MASK = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(-1)


def smallest_eigenvalue(matrix: Tensor) -> Tensor:
    """Smallest eigenvalue of symmetric matrices (..., n, n) → (...); of a Gram matrix at least 0, up to rounding."""
    return torch.linalg.eigvalsh(matrix)[..., 0]


def is_positive_semidefinite(matrix: Tensor, tolerance: float = 1e-6) -> Tensor:
    """Return whether symmetric matrices (..., n, n) have no eigenvalue below -`tolerance` · their largest diagonal."""
    largest = matrix.diagonal(dim1=-2, dim2=-1).abs().amax(dim=-1)
    return smallest_eigenvalue(matrix) >= -tolerance * largest


def orthogonality_defect(degree: int, num_nodes: int) -> float:
    """Largest inner product of two different T_i, T_j with i, j <= degree under the weight 1 / sqrt(1 - x²).

    The integral is a sum over the nodes cos((k - 1/2) π / N), k = 1 … N, which is exact, so that 0 is left up to
    rounding, where degree < N (Gauss-Chebyshev quadrature).
    """
    nodes = torch.cos((torch.arange(num_nodes, dtype=torch.float64) + 0.5) * math.pi / num_nodes)
    features = chebyshev(nodes, degree)
    products = features.T @ features * (math.pi / num_nodes)
    return float((products - products.diagonal().diag()).abs().max())


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def within(*shape: int) -> Tensor:
    """Numbers in [-1, 1]."""
    return torch.rand(*shape, dtype=torch.float64) * 2 - 1


@pytest.mark.parametrize("masked", [True, False])
def test_softmax_attention_is_smoothing_by_the_exponential_kernel(masked, assert_agrees):
    queries, keys, values = random(3, 5, DIM), random(3, 6, DIM), random(3, 6, 2)
    attention, mask = build_attention(AttentionSettings(), DIM, DIM).double(), MASK if masked else None
    context = attention(queries, attention.remember(keys, values, mask)).context
    assert_agrees("H02", smoothed(queries, keys, values, exponential, mask), context)


def test_any_kernel_smooths():
    """By loops, with the polynomial one; a kernel that is 1 everywhere gives the mean."""
    queries, keys, values = within(2, DIM), within(3, DIM), random(3, 2)
    read = smoothed(queries, keys, values, chebyshev_kernel)
    for row, query in enumerate(queries):
        likeness = [chebyshev_kernel(query.view(1, -1), key.view(1, -1)).item() for key in keys]
        wanted = sum(like * value for like, value in zip(likeness, values, strict=True)) / sum(likeness)
        assert_close(read[row], wanted)
    flat = smoothed(queries, keys, values, lambda first, second: torch.ones(len(first), len(second)).double())
    assert_close(flat, values.mean(dim=0).expand(2, 2))


@pytest.mark.parametrize("kernel", [exponential, chebyshev_kernel])
def test_gram_matrices_are_symmetric_and_positive_semidefinite(kernel):
    for points in (within(4, 30, DIM), within(4, 3, 1), within(1, 6, DIM)[:, [0, 0, 1, 2, 2, 2]]):
        matrix = gram(points, kernel)
        assert_close(matrix, matrix.mT)
        assert bool(is_positive_semidefinite(matrix).all())


def test_not_every_likeness_is_a_kernel():
    """What is larger for what is further apart has no features: the test above can fail."""
    assert float(smallest_eigenvalue(gram(within(10, DIM), torch.cdist))) < -0.1


@pytest.mark.parametrize("degree", [0, 1, 5])
def test_chebyshev_polynomials_are_cosines_of_multiples(degree, assert_agrees):
    angles = torch.rand(7, 2, dtype=torch.float64) * math.pi
    found = chebyshev(angles.cos(), degree)
    assert found.shape == (7, 2, degree + 1)
    assert_agrees("H02", found, torch.cos(angles.unsqueeze(-1) * torch.arange(degree + 1)))


def test_the_polynomial_kernel_is_the_product_of_features_by_loops(assert_agrees):
    first, second = within(2, 3, DIM), within(2, 4, DIM)
    found = chebyshev_kernel(first, second, degree=2)
    for row in range(2):
        for i, x in enumerate(first[row].tolist()):
            for j, y in enumerate(second[row].tolist()):
                pairs = zip(x, y, strict=True)
                wanted = math.prod(1 + a * b + (2 * a * a - 1) * (2 * b * b - 1) for a, b in pairs)
                assert_agrees("H02", found[row, i, j], torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.parametrize(("num_nodes", "enough"), [(7, True), (4, False)])
def test_features_of_different_degree_are_orthogonal_on_enough_nodes(num_nodes, enough):
    defect = orthogonality_defect(6, num_nodes)
    assert defect < 1e-12 if enough else defect > 0.1


def test_orthogonality_defect_by_hand():
    """On the one node x = 0: T_0 = 1, T_1 = 0, T_2 = -1, so T_0 and T_2 have the product -π."""
    assert orthogonality_defect(1, 1) == pytest.approx(0.0, abs=1e-12)
    assert orthogonality_defect(2, 1) == pytest.approx(math.pi)


def test_smallest_eigenvalue_by_hand():
    """[[2, 1], [1, 2]] has 1 and 3, [[0, 1], [1, 0]] has -1 and 1; a matrix of ones has 0."""
    matrices = torch.tensor([[[2.0, 1.0], [1.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]]).double()
    assert_close(smallest_eigenvalue(matrices), torch.tensor([1.0, -1.0, 0.0]).double())
    assert is_positive_semidefinite(matrices).tolist() == [True, False, True]


def test_gradients_are_those_of_finite_differences_also_at_the_borders():
    numbers = torch.tensor([[-0.5, 0.999, 0.2, 0.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda some: chebyshev(some, 4), numbers)
    ends = torch.tensor([-1.0, 1.0], dtype=torch.float64, requires_grad=True)
    chebyshev(ends, 3).sum().backward()
    assert_close(
        ends.grad, torch.tensor([0 + 1 - 4 + 9, 0 + 1 + 4 + 9], dtype=torch.float64)
    )  # T_i'(±1) = (±1)^(i-1) i²
