"""Every row of the attention tables keeps the contract of the socket."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, plain, recording
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

BATCH, QUERY, KEY, DIM = 3, 5, 6, 4
LENGTHS = [6, 3, 0]  # a full row, a padded row, a row where everything is hidden

ROWS = (
    [("score", name) for name in SCORES]
    + [("span", name) for name in SPANS]
    + [("weighting", name) for name in WEIGHTINGS]
)


@pytest.fixture(params=ROWS, ids="-".join)
def row(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(params=[1, 2], ids=["one-head", "two-heads"])
def attention(request: pytest.FixtureRequest, row: tuple[str, str]) -> Attention:
    return build(row, request.param)


def build(row: tuple[str, str], num_heads: int) -> Attention:
    place, name = row
    choice: object = (Choice(name),) if place == "span" else Choice(name)
    settings = AttentionSettings(**{"score": Choice("dot"), place: choice}, num_heads=num_heads)
    return build_attention(settings, DIM, DIM).double().eval()


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(BATCH, QUERY, DIM, dtype=torch.float64)


@pytest.fixture
def keys() -> Tensor:
    return torch.randn(BATCH, KEY, DIM, dtype=torch.float64)


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(KEY) < torch.tensor(LENGTHS).unsqueeze(-1)


def test_hidden_keys_cannot_change_the_context(attention, queries, keys, mask):
    changed = keys.masked_fill(~mask.unsqueeze(-1), 1e3)
    first, second = (attention(queries, attention.remember(some, mask=mask)).context for some in (keys, changed))
    assert_close(first, second, rtol=0, atol=0)


def test_a_fully_hidden_row_is_zero_with_finite_gradients(attention, queries, keys, mask):
    queries.requires_grad_()
    keys.requires_grad_()
    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    assert attended.weights is not None
    assert bool((attended.context[2] == 0).all()) and bool((attended.weights[2] == 0).all())
    attended.context.square().sum().backward()
    gradients = [queries.grad, keys.grad, *(parameter.grad for parameter in attention.parameters())]
    assert all(gradient is None or bool(gradient.isfinite().all()) for gradient in gradients)


def test_weights_are_hidden_where_hidden_and_sum_to_one_if_normalised_without_a_gain(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    weights = attention(queries, memory, need_weights=True).weights
    split = queries if attention.heads is None else attention.heads.queries(queries)
    view = attention.span(split, memory, attention.span.begin(split, memory))
    shown = torch.ones_like(weights, dtype=torch.bool) if view.mask is None else view.mask.expand_as(weights)
    assert bool((weights[~shown] == 0).all())
    if attention.weighting.normalised and view.gain is None:
        assert_close(weights.sum(dim=-1), shown.any(dim=-1).double())


def test_one_step_equals_all_steps(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    whole = attention(queries, memory, need_weights=True)
    for size in (1, 2):
        past, contexts, weights = None, [], []
        for some in queries.split(size, dim=1):
            attended = attention(some, memory, past, need_weights=True)
            past = attended.past
            contexts.append(attended.context)
            weights.append(attended.weights)
        assert_close(torch.cat(contexts, dim=1), whole.context)
        assert_close(torch.cat(weights, dim=-2), whole.weights)


def test_a_batch_of_different_lengths_equals_each_alone(attention, queries, keys, mask):
    together = attention(queries, attention.remember(keys, mask=mask)).context
    for place, length in enumerate(LENGTHS[:2]):
        alone = attention(queries[place : place + 1], attention.remember(keys[place : place + 1, :length])).context
        assert_close(together[place : place + 1], alone)


def test_asking_for_weights_does_not_change_the_context(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    assert_close(
        attention(queries, memory).context, attention(queries, memory, need_weights=True).context, rtol=0, atol=0
    )


def test_gradients_are_those_of_finite_differences(attention, queries, keys, mask):
    queries, keys = queries[:2, :3].requires_grad_(), keys[:2].requires_grad_()

    def context(some_queries: Tensor, some_keys: Tensor) -> Tensor:
        return attention(some_queries, attention.remember(some_keys, mask=mask[:2])).context

    assert torch.autograd.gradcheck(context, (queries, keys))


def test_half_precision_stays_near(attention, queries, keys, mask):
    exact = attention(queries, attention.remember(keys, mask=mask)).context
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 0.1)):
        rough = attention.to(dtype)
        near = rough(queries.to(dtype), rough.remember(keys.to(dtype), mask=mask)).context
        assert near.dtype == dtype
        assert_close(near.double(), exact, rtol=tolerance, atol=tolerance)


def test_nothing_is_kept_between_calls(attention, queries, keys, mask):
    def inside() -> dict[str, object]:
        return {name: {key: id(value) for key, value in vars(part).items()} for name, part in attention.named_modules()}

    before = inside()
    attention(queries, attention.remember(keys, mask=mask))
    assert inside() == before


def test_no_queries_and_no_keys_give_no_error(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    assert attention(queries[:, :0], memory).context.shape[:2] == (BATCH, 0)
    nothing = attention(queries, attention.remember(keys[:, :0], mask=mask[:, :0])).context
    assert nothing.shape[:2] == (BATCH, QUERY) and bool(nothing.isfinite().all())


@pytest.mark.parametrize("name", [name for name in SCORES if not SCORES.build(Choice(name), DIM, DIM).by_place])
def test_permuting_the_keys_permutes_the_weights(name, queries, keys, mask):
    attention = build(("score", name), 1)
    order = torch.randperm(KEY)
    weights = attention(queries, attention.remember(keys, mask=mask), need_weights=True).weights
    moved = attention(queries, attention.remember(keys[:, order], mask=mask[:, order]), need_weights=True).weights
    assert_close(weights[..., order], moved)


@pytest.mark.parametrize("length", [6, 900])  # plain products; each kernel where it fits
@pytest.mark.parametrize("row_", ROWS, ids="-".join)
def test_fast_paths_equal_the_plain_path_in_values_and_gradients(row_, length):
    attention = build(row_, 2)
    queries = torch.randn(2, 5, DIM, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(2, length, DIM, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(length) < torch.tensor([[length], [0]])

    def run() -> list[Tensor]:
        context = attention(queries, attention.remember(keys, mask=mask)).context
        return [context, *torch.autograd.grad(context.square().sum(), (queries, keys))]

    fast = run()
    with plain():
        slow = run()
    assert_close(fast, slow)


def test_recording_collects_each_call_by_name(queries, keys):
    model = torch.nn.ModuleDict({"first": build(("score", "dot"), 2), "second": build(("score", "additive"), 1)})
    with recording(model) as records:
        model["first"](queries, model["first"].remember(keys))
        model["first"](queries, model["first"].remember(keys))
    assert [len(records[name]) for name in ("first", "second")] == [2, 0]
    assert records["first"][0].weights.shape == (BATCH, 2, QUERY, KEY)
    assert model["first"](queries, model["first"].remember(keys)).weights is None  # the hooks are gone


def test_recording_sees_into_a_compiled_model(queries, keys):
    class Looks(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = build(("score", "dot"), 1)

        def forward(self, some: Tensor) -> Tensor:
            return self.attention(some, self.attention.remember(keys)).context

    model = torch.compile(Looks(), backend="eager")
    model(queries)
    with recording(model) as records:
        model(queries)
    assert len(records["attention"]) == 1 and records["attention"][0].weights is not None
