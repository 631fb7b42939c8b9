"""A hop of a memory network against a loop over the slots."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import recording
from regard.layers.memory_hop import MemoryHop
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

BATCH, SLOTS, DIM = 3, 5, 4
LENGTHS = [5, 2, 0]
MASK = torch.arange(SLOTS) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def build(mapped: bool, weighting: str = "softmax") -> MemoryHop:
    settings = AttentionSettings(score=Choice("dot"), weighting=Choice(weighting))
    return MemoryHop(DIM, build_attention(settings, DIM, DIM), mapped=mapped).double().requires_grad_(False)


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("weighting", ["softmax", "unnormalised"])  # the paper starts training without the softmax
def test_equals_a_loop_over_the_slots(mapped, weighting, assert_agrees):
    hop, query, keys, values = (
        build(mapped, weighting),
        random(BATCH, DIM),
        random(BATCH, SLOTS, DIM),
        random(BATCH, SLOTS, DIM),
    )
    asked = hop(query, keys, values, MASK)
    for row, length in enumerate(LENGTHS):
        wanted = hop.mapping.weight @ query[row] if mapped else query[row]
        if length:
            scores = torch.stack([query[row] @ keys[row, slot] for slot in range(length)])
            weights = scores.softmax(dim=0) if weighting == "softmax" else scores
            wanted = wanted + sum(weights[slot] * values[row, slot] for slot in range(length))
        assert_agrees("A31", asked[row], wanted)


def test_hops_go_on_from_what_was_read_and_are_recorded():
    hop, query, keys, values = build(False), random(BATCH, DIM), random(BATCH, SLOTS, DIM), random(BATCH, SLOTS, DIM)
    with recording(hop) as records:
        end = hop(hop(query, keys, values, MASK), keys, values, MASK)
    first, second = (record.weights.squeeze(1) for record in records["attention"].answers)
    assert_close(end, query + ((first + second).unsqueeze(1) @ values).squeeze(1))


def test_the_order_of_the_slots_does_not_matter():
    hop, query, keys, values = build(True), random(BATCH, DIM), random(BATCH, SLOTS, DIM), random(BATCH, SLOTS, DIM)
    order = torch.randperm(SLOTS)
    assert_close(hop(query, keys[:, order], values[:, order], MASK[:, order]), hop(query, keys, values, MASK))


def test_gradients_are_those_of_finite_differences():
    hop = build(True)
    inputs = [random(*shape).requires_grad_() for shape in ((BATCH, DIM), (BATCH, SLOTS, DIM), (BATCH, SLOTS, DIM))]
    assert torch.autograd.gradcheck(lambda *some: hop(*some, MASK), inputs)
