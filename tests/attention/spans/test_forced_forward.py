"""Forced-forward attention against a loop, and that it never goes back."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SPANS, Attention, Memory
from regard.attention.parts import AllOf
from regard.attention.scores.dot import DotScore
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.forced_forward import ForcedForwardSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.attention.weightings.unnormalised import UnnormalisedWeighting
from regard.errors import ConfigError
from regard.registry import Choice

DIM = 3
HARD = [False, True]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def looking(span: torch.nn.Module) -> Attention:
    return Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM)).double()


def seen(num_keys: int, lengths: list[int]) -> Memory:
    keys = random(len(lengths), num_keys, DIM)
    return Memory(keys, keys, torch.arange(num_keys) < torch.tensor(lengths).unsqueeze(-1))


def soft_by_loop(scores: list[list[float]], penalty: float) -> list[list[float]]:
    """Weights of one sentence, all of whose keys may be seen."""
    used, rows = [0.0] * len(scores[0]), []
    for row in scores:
        parts = [math.exp(score - penalty * before) for score, before in zip(row, used, strict=True)]
        rows.append([part / sum(parts) for part in parts])
        used = [before + weight for before, weight in zip(used, rows[-1], strict=True)]
    return rows


def hard_by_loop(scores: list[list[float]], strict: bool) -> list[list[float]]:
    place, rows = -1, []
    for row in scores:
        left = [key for key in range(len(row)) if (key > place if strict else key >= place)] or [len(row) - 1]
        parts = [math.exp(score) if key in left else 0.0 for key, score in enumerate(row)]
        rows.append([part / sum(parts) for part in parts])
        place = rows[-1].index(max(rows[-1]))
    return rows


@pytest.mark.parametrize(
    "settings",
    [{"penalty": 0.0}, {"penalty": 5.0}, {"penalty": 0.7, "learned": True}]
    + [{"mode": "hard", "strict": strict} for strict in HARD],
    ids=str,
)
def test_weights_are_those_of_a_loop(settings, assert_agrees):
    attention, memory, queries, lengths = looking(ForcedForwardSpan(DIM, DIM, **settings)), *batch([6, 3, 1])
    weights = attention(queries, memory, need_weights=True).weights
    for row, length in enumerate(lengths):
        scores = (queries[row] @ memory.keys[row, :length].t()).tolist()
        if settings.get("mode") == "hard":
            wanted = hard_by_loop(scores, settings["strict"])
        else:
            wanted = soft_by_loop(scores, settings["penalty"])
        assert_agrees("A17", weights[row, :, :length].detach(), torch.tensor(wanted, dtype=torch.float64))


def batch(lengths: list[int]) -> tuple[Memory, Tensor, list[int]]:
    return seen(6, lengths), 3 * random(len(lengths), 8, DIM), lengths


@pytest.mark.parametrize("strict", HARD)
def test_what_is_looked_at_never_goes_back(strict):
    memory, queries, lengths = batch([6, 4, 1])
    attention = looking(ForcedForwardSpan(DIM, DIM, mode="hard", strict=strict))
    places = attention(queries, memory, need_weights=True).weights.argmax(dim=-1)
    steps = places.diff(dim=-1)
    assert bool((steps >= 0).all())
    if strict:  # on and on, and then the last key again and again
        last = torch.tensor(lengths).unsqueeze(-1) - 1
        assert bool(((steps > 0) | (places[:, 1:] == last)).all())


def test_when_strictly_nothing_is_left_the_last_key_of_the_sentence_is_seen_alone():
    memory = Memory(torch.eye(DIM, dtype=torch.float64)[None] * 9, torch.eye(DIM, dtype=torch.float64)[None], None)
    memory = memory._replace(mask=torch.tensor([[True, True, False]]))
    queries = torch.tensor([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]], dtype=torch.float64)
    attention = looking(ForcedForwardSpan(DIM, DIM, mode="hard", strict=True))
    weights = attention(queries, memory, need_weights=True).weights[0]
    assert weights.argmax(dim=-1).tolist() == [1, 1, 1]
    assert weights[1:].tolist() == [[0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize("strict", HARD)
def test_a_query_that_saw_nothing_moves_nowhere(strict):
    """Another span hides everything from the second query, so its weights are all zero."""
    span = ForcedForwardSpan(DIM, DIM, mode="hard", strict=strict)
    memory, queries = seen(4, [4]), random(1, 2, DIM)
    past = span.begin(queries, memory)
    attention = looking(span)
    past = attention(queries[:, :1], memory, need_weights=True).past
    nothing = memory._replace(mask=torch.zeros(1, 4, dtype=torch.bool))
    after = attention(queries[:, 1:], nothing, past).past
    assert torch.equal(after[1].last, past[1].last) and torch.equal(after[1].used, past[1].used)


def test_weights_below_zero_do_not_send_it_to_a_hidden_key():
    span = ForcedForwardSpan(1, 1, mode="hard")
    attention = Attention(DotScore(1, 1), span, UnnormalisedWeighting(1))
    keys = torch.tensor([[[-2.0], [-1.0], [-3.0], [5.0]]])
    memory = Memory(keys, keys, torch.tensor([[True, True, True, False]]))
    weights = attention(torch.ones(1, 2, 1), memory, need_weights=True).weights
    assert weights.tolist() == [[[-2, -1, -3, 0], [0, -1, -3, 0]]]


@pytest.mark.parametrize("settings", [{}, {"mode": "hard"}, {"mode": "hard", "strict": True}], ids=str)
def test_a_memory_that_grows_gives_what_the_whole_gives_behind_a_causal_span(settings):
    span = ForcedForwardSpan(DIM, DIM, **settings)
    attention = looking(AllOf([CausalSpan(DIM, DIM), span]))
    keys, queries = random(2, 5, DIM), random(2, 5, DIM)
    whole = attention(queries, attention.remember(keys), need_weights=True)
    past = None
    for place in range(5):
        memory = attention.remember(keys[:, : place + 1])
        step = attention(queries[:, place : place + 1], memory, past, need_weights=True)
        past = step.past
        assert_close(step.context, whole.context[:, place : place + 1])
        assert_close(step.weights, whole.weights[:, place : place + 1, : place + 1])


def test_a_penalty_of_zero_is_global_attention():
    memory, queries, _ = batch([6, 3])
    free = looking(EverywhereSpan(DIM, DIM))
    forced = looking(ForcedForwardSpan(DIM, DIM, penalty=0.0))
    assert_close(forced(queries, memory).context, free(queries, memory).context)


def test_the_penalty_learns_and_gradients_pass_through_what_was_used():
    span = ForcedForwardSpan(DIM, DIM, learned=True).double()
    memory, queries, _ = batch([6, 3])

    def context(some: Tensor, keys: Tensor, raw: Tensor) -> Tensor:
        arguments = some, Memory(keys, keys, memory.mask)
        return torch.func.functional_call(looking(span), {"span.raw_penalty": raw}, arguments).context

    inputs = queries[:, :3] / 3, memory.keys, span.raw_penalty
    assert torch.autograd.gradcheck(context, tuple(one.detach().requires_grad_() for one in inputs))


def test_sums_are_kept_in_single_precision_at_least():
    span = ForcedForwardSpan(DIM, DIM)
    keys = torch.ones(1, 300, DIM, dtype=torch.bfloat16)
    attention = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))
    past = attention(keys, attention.remember(keys)).past
    assert_close(past[1].used, torch.ones(1, 300), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"penalty": 0.0, "learned": True}, r"penalty: is 0.0 .*more than 0 where it is learned"),
        ({"mode": "hard", "learned": True}, r"attention.span.learned: hard mode has no penalty"),
        ({"mode": "hard", "penalty": 3.0}, r"attention.span.penalty: hard mode has no penalty \(use mode: soft"),
        ({"strict": True}, r"attention.span.strict: soft mode hides no key \(use mode: hard"),
    ],
)
def test_settings_that_say_nothing_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        SPANS.build(Choice("forced_forward", settings), DIM, DIM)
