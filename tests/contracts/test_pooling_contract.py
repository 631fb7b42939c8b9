"""Every row of the table of poolings keeps their contract."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import recording
from regard.layers.pooling import POOLINGS, Pooling
from regard.ops.plain import plain
from regard.registry import Choice

BATCH, LENGTH, DIM = 4, 6, 3
LENGTHS = [6, 4, 1, 0]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)
SETTINGS = {
    "structured": {"hops": 2, "hidden_dim": 5},
    "attention": {"hidden_dim": 5},
    "sliced": {"slices": 2, "depth": 2, "hidden_dim": 4},
    "convolutional": {"num_filters": 4},
    "convolutional_query": {"num_filters": 4, "hidden_dim": 4},
}
ATTENTION = ("attention", "featurewise", "feedforward", "query", "structured", "tanh_attention")
IN_ANY_ORDER = [
    name for name in POOLINGS if name not in ("convolutional", "convolutional_query", "first", "last", "sliced")
]


def build(name: str) -> Pooling:
    return POOLINGS.build(Choice(name, SETTINGS.get(name, {})), DIM).double().eval()


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture(params=POOLINGS)
def pooling(request: pytest.FixtureRequest) -> Pooling:
    return build(request.param)


def test_one_vector_for_each_sequence(pooling):
    states = random(BATCH, LENGTH, DIM)
    assert pooling(states, MASK).shape == (BATCH, pooling.out_dim)
    assert_close(pooling(states), pooling(states, torch.ones_like(MASK)))


def test_a_batch_of_different_lengths_equals_each_alone(pooling):
    states = random(BATCH, LENGTH, DIM)
    together = pooling(states, MASK)
    for row, length in enumerate(LENGTHS):
        assert_close(together[row : row + 1], pooling(states[row : row + 1, :length]))


def test_what_stands_under_padding_cannot_change_the_vector(pooling):
    states = random(BATCH, LENGTH, DIM)
    changed = states.masked_fill(~MASK.unsqueeze(-1), 1e3)
    assert_close(pooling(states, MASK), pooling(changed, MASK), rtol=0, atol=0)


@pytest.mark.parametrize("length", [LENGTH, 0])
def test_nothing_gives_zeros_and_finite_gradients(pooling, length):
    states = random(BATCH, length, DIM).requires_grad_()
    pooled = pooling(states, torch.zeros(BATCH, length, dtype=torch.bool))
    assert pooled.shape == (BATCH, pooling.out_dim) and bool((pooled == 0).all())
    (pooled + states.sum()).square().sum().backward()
    gradients = [states.grad, *(parameter.grad for parameter in pooling.parameters())]
    assert all(gradient is None or bool(gradient.isfinite().all()) for gradient in gradients)


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_the_order_of_states_does_not_matter(name):
    pooling, states, order = build(name), random(BATCH, LENGTH, DIM), torch.randperm(LENGTH)
    assert_close(pooling(states[:, order], MASK[:, order]), pooling(states, MASK))


def test_gradients_are_those_of_finite_differences(pooling):
    states = random(3, LENGTH, DIM).requires_grad_()
    assert torch.autograd.gradcheck(lambda some: pooling(some, MASK[[0, 1, 3]]), states)


def test_single_precision_stays_near(pooling):
    states = random(BATCH, LENGTH, DIM)
    exact = pooling(states, MASK)
    near = pooling.float()(states.float(), MASK)
    assert near.dtype == torch.float32
    assert_close(near.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.parametrize("length", [LENGTH, 200])
def test_recording_sees_the_weights_and_changes_nothing(name, length):
    pooling, states = build(name), random(BATCH, length, DIM)
    mask = torch.arange(length) < torch.tensor([[length], [4], [1], [0]])
    with recording(pooling) as records:
        seen = pooling(states, mask)
    assert_close(seen, pooling(states, mask), rtol=0, atol=0)
    weights = records["attention"].answers[0].weights
    hidden = ~mask.view(BATCH, *[1] * (weights.dim() - 2), length).expand_as(weights)
    assert bool((weights[hidden] == 0).all())
    assert_close(
        weights[:3].sum(dim=-1), torch.ones_like(weights[:3, ..., 0]), rtol=0, atol=1e-6
    )  # eps: a little short


@pytest.mark.parametrize("name", ATTENTION)
def test_fast_paths_equal_the_plain_path(name):
    pooling, states = build(name), random(2, 300, DIM).requires_grad_()
    mask = torch.arange(300) < torch.tensor([[300], [0]])

    def run() -> list[Tensor]:
        pooled = pooling(states, mask)
        return [pooled, *torch.autograd.grad(pooled.square().sum(), states)]

    fast = run()
    with plain():
        assert_close(fast, run())


def test_compiled_equals_eager():
    pooling, states = build("attention"), random(BATCH, LENGTH, DIM)
    assert_close(torch.compile(pooling, backend="aot_eager")(states, MASK), pooling(states, MASK))


def test_a_place_is_that_of_the_only_state_read(pooling):
    """Of a text that is not empty: the state there makes the vector by itself."""
    places, full = pooling.place(MASK), [row for row, length in enumerate(LENGTHS) if length]
    states = random(BATCH, LENGTH, DIM)
    if places is None:
        assert any(
            not torch.equal(pooling(states.index_fill(1, torch.tensor(one), 9.0), MASK)[0], pooling(states, MASK)[0])
            for one in range(1, LENGTH - 1)
        )
        return
    alone = states.gather(1, places.view(-1, 1, 1).expand(-1, 1, DIM))
    assert_close(pooling(states, MASK)[full], pooling(alone)[full])
