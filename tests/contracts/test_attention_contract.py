"""Every row of the attention tables keeps the contract of the socket."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Memory, recording
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice

BATCH, QUERY, DIM = 3, 5, 4
FEW, MANY = 6, 150  # keys for plain products, and for the kernels
NARROW = {name: {"radius": 1} for name in ("window", "local_monotonic", "local_predictive")}  # or they hide nothing

ROWS = (
    [("score", name) for name in SCORES]
    + [("span", name) for name in SPANS]
    + [("weighting", name) for name in WEIGHTINGS]
)


HEADS_DIFFER = [("span", "alibi")]  # each head has a slope of its own


@pytest.fixture(params=ROWS, ids="-".join)
def row(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(params=[1, 2], ids=["one-head", "two-heads"])
def attention(request: pytest.FixtureRequest, row: tuple[str, str]) -> Attention:
    return build(row, request.param)


def build(row: tuple[str, str], num_heads: int) -> Attention:
    place, name = row
    part = Choice(name, NARROW.get(name, {}))
    choice: object = (part,) if place == "span" else part
    settings = AttentionSettings(**{"score": Choice("dot"), place: choice}, num_heads=num_heads)
    return build_attention(settings, DIM, DIM).double().eval()


def goes_along(attention: Attention) -> bool:
    """Whether the order of the keys counts."""
    return any(part.by_place for part in attention.parts) or attention.weighting.sequential


@pytest.fixture(params=[FEW, MANY], ids=["few-keys", "many-keys"])
def num_keys(request: pytest.FixtureRequest) -> int:
    return request.param


few_keys = pytest.mark.parametrize("num_keys", [FEW])


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(BATCH, QUERY, DIM, dtype=torch.float64)


@pytest.fixture
def keys(num_keys: int) -> Tensor:
    return torch.randn(BATCH, num_keys, DIM, dtype=torch.float64)


@pytest.fixture
def mask(num_keys: int) -> Tensor:
    """A full row, a padded row, and one where everything is hidden."""
    return torch.arange(num_keys) < torch.tensor([num_keys, num_keys // 2, 0]).unsqueeze(-1)


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
    for place, length in enumerate(mask.sum(dim=-1).tolist()[:2]):
        alone = attention(queries[place : place + 1], attention.remember(keys[place : place + 1, :length])).context
        assert_close(together[place : place + 1], alone)


def test_asking_for_weights_does_not_change_the_context(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    assert_close(
        attention(queries, memory).context, attention(queries, memory, need_weights=True).context, rtol=0, atol=0
    )


@few_keys
def test_gradients_are_those_of_finite_differences(attention, queries, keys, mask):
    queries, keys = queries[:2, :3].requires_grad_(), keys[:2].requires_grad_()

    def context(some_queries: Tensor, some_keys: Tensor) -> Tensor:
        return attention(some_queries, attention.remember(some_keys, mask=mask[:2])).context

    assert torch.autograd.gradcheck(context, (queries, keys))


def test_half_precision_stays_near(attention, queries, keys, mask):
    exact = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    read = float(exact.weights.detach().abs().sum(dim=-1).clamp(min=1.0).amax())  # errors grow with what is read in all
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 0.1)):
        rough = attention.to(dtype)
        near = rough(queries.to(dtype), rough.remember(keys.to(dtype), mask=mask)).context
        assert near.dtype == dtype
        assert_close(near.double(), exact.context, rtol=tolerance, atol=tolerance * read)


@few_keys
def test_nothing_is_kept_between_calls(attention, queries, keys, mask):
    def inside() -> dict[str, object]:
        return {name: {key: id(value) for key, value in vars(part).items()} for name, part in attention.named_modules()}

    before = inside()
    attention(queries, attention.remember(keys, mask=mask))
    assert inside() == before


@few_keys
def test_no_queries_and_no_keys_give_no_error(attention, queries, keys, mask):
    memory = attention.remember(keys, mask=mask)
    assert attention(queries[:, :0], memory).context.shape[:2] == (BATCH, 0)
    nothing = attention(queries, attention.remember(keys[:, :0], mask=mask[:, :0])).context
    assert nothing.shape[:2] == (BATCH, QUERY) and bool(nothing.isfinite().all())


@pytest.mark.parametrize("row_", [row for row in ROWS if not goes_along(build(row, 1))], ids="-".join)
def test_permuting_the_keys_permutes_the_weights(row_, queries, keys, mask):
    attention, order = build(row_, 1), torch.randperm(keys.shape[1])
    weights = attention(queries, attention.remember(keys, mask=mask), need_weights=True).weights
    moved = attention(queries, attention.remember(keys[:, order], mask=mask[:, order]), need_weights=True).weights
    assert_close(weights[..., order], moved)


@pytest.mark.parametrize("row_", [row for row in ROWS if row not in HEADS_DIFFER], ids="-".join)
def test_heads_equal_a_loop_over_heads(row_, queries, keys, mask):
    attention = build(row_, 2)
    together = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    split, memory = attention.heads.queries(queries), attention.remember(keys, mask=mask)
    one = Attention(*attention.parts).eval()
    alone = [
        one(split[:, head], Memory(memory.keys[:, head], memory.values[:, head], mask), need_weights=True)
        for head in range(2)
    ]
    assert_close(together.context, attention.heads.join(torch.stack([seen.context for seen in alone], dim=1)))
    assert_close(together.weights, torch.stack([seen.weights for seen in alone], dim=1))


@pytest.mark.parametrize("name", SPANS)
def test_what_a_span_says_of_a_few_keys_is_what_it_says_of_all(name, queries, keys, mask):
    """And no key outside the window it tells of is seen."""
    span = build(("span", name), 1).span
    memory = Memory(keys, keys, mask)
    past = span.begin(queries, memory)
    whole, window = span(queries, memory, past), span.window(queries, memory, past)
    num_keys = keys.shape[1]
    order = torch.randperm(num_keys)
    few = span.view_at(queries, memory, past, order)
    unseen = torch.zeros(BATCH, QUERY, num_keys, dtype=torch.bool)
    shown = (unseen.logical_not() if few.mask is None else few.mask) & mask[:, None, order]
    assert torch.equal(shown, unseen | whole.mask[..., order])
    for said, wanted in ((few.bias, whole.bias), (few.gain, whole.gain)):
        assert (said is None) == (wanted is None)
        assert said is None or torch.equal(said, wanted[..., order])
    if window is not None:
        offset = torch.arange(num_keys) - window.first.unsqueeze(-1)
        inside = (offset >= 0) & (offset < window.width * window.step) & (offset % window.step == 0)
        assert not bool((whole.mask & ~inside).any())


@pytest.mark.parametrize("length", [6, 900])  # plain products; each kernel where it fits
@pytest.mark.parametrize("row_", ROWS, ids="-".join)
def test_fast_paths_equal_the_plain_path_in_values_and_gradients(row_, length):
    attention = build(row_, 2)
    queries, keys, mask = long(length)
    fast = context_and_gradients(attention, queries, keys, mask)
    with plain():
        assert_close(fast, context_and_gradients(attention, queries, keys, mask))


def long(length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys, and a mask with a row that shows all and one that shows nothing."""
    queries = torch.randn(2, 3, DIM, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(2, length, DIM, dtype=torch.float64, requires_grad=True)
    return queries, keys, torch.arange(length) < torch.tensor([[length], [0]])


def context_and_gradients(attention: Attention, queries: Tensor, keys: Tensor, mask: Tensor) -> list[Tensor]:
    context = attention(queries, attention.remember(keys, mask=mask)).context
    gradients = torch.autograd.grad(context.square().sum(), (queries, keys), materialize_grads=True)
    return [context, *gradients]


COMPILED = [  # one row of each table and, by the number of keys, each kernel
    (("score", "additive"), 6, "aot_eager"),
    (("weighting", "sparsemax"), 6, "aot_eager"),
    (("span", "local_monotonic"), 6, "aot_eager"),
    (("span", "window"), 300, "aot_eager"),
    (("score", "scaled_dot"), 300, "aot_eager"),
]
COMPILED += [pytest.param(row, 300, "inductor", marks=pytest.mark.slow) for row in ROWS]


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns of what torch does
@pytest.mark.parametrize(("row_", "length", "backend"), COMPILED, ids=lambda value: str(value).replace("', '", "-"))
def test_compiled_it_is_the_same_and_in_one_graph(row_, length, backend):
    torch.compiler.reset()
    attention = build(row_, 2)
    queries, keys, mask = long(length)

    def context(some_queries: Tensor, some_keys: Tensor) -> Tensor:
        return attention(some_queries, attention.remember(some_keys, mask=mask)).context

    wanted = context(queries, keys)
    made = torch.compile(context, backend=backend, fullgraph=True)(queries, keys)
    gradients = [
        torch.autograd.grad(one.square().sum(), (queries, keys), materialize_grads=True) for one in (made, wanted)
    ]
    assert_close(made, wanted)
    assert_close(*gradients)


@few_keys
def test_recording_collects_each_call_by_name(queries, keys):
    model = torch.nn.ModuleDict({"first": build(("score", "dot"), 2), "second": build(("score", "additive"), 1)})
    with recording(model) as records:
        model["first"](queries, model["first"].remember(keys))
        model["first"](queries, model["first"].remember(keys))
    assert [len(records[name].answers) for name in ("first", "second")] == [2, 0]
    assert records["first"].answers[0].weights.shape == (BATCH, 2, QUERY, FEW)
    assert model["first"](queries, model["first"].remember(keys)).weights is None  # the hooks are gone


@few_keys
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
    assert len(records["attention"].answers) == 1 and records["attention"].answers[0].weights is not None
