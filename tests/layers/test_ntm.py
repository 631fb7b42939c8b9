"""Addressing by content and location, and heads that read and write, against loops over the slots."""

import math

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.attention.addressing import Address, by_content, interpolate, sharpen, shift, weights_at
from regard.errors import ConfigError
from regard.layers.ntm import AddressHead, ReadHead, WriteHead, read_slots, write_slots

BATCH, SLOTS, DIM, STATE = 3, 5, 4, 6
LENGTHS = [5, 3, 1]
MASK = torch.arange(SLOTS) < tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def exact(numbers: float | list[float]) -> Tensor:
    return tensor(numbers, dtype=torch.float64)


def distribution(*shape: int) -> Tensor:
    return random(*shape).softmax(dim=-1)


def one_hot(place: int, size: int = SLOTS) -> Tensor:
    return torch.nn.functional.one_hot(tensor([place] * BATCH), size).double()


def address(key: Tensor) -> Address:
    ones = torch.ones(BATCH, dtype=torch.float64)
    return Address(key, ones * 3, ones * 0.6, distribution(BATCH, 3), 1 + random(BATCH).exp())


def loop(how: Address, slots: Tensor, before: Tensor) -> list[float]:
    """The equations for one row, slot by slot."""
    count, shares = len(slots), how.shares.tolist()
    alike = [(how.key @ slot / (how.key.norm() * slot.norm())).item() * how.strength.item() for slot in slots]
    content = [math.exp(one) / sum(map(math.exp, alike)) for one in alike]
    gate, gamma = how.gate.item(), how.gamma.item()
    gated = [gate * c + (1 - gate) * b for c, b in zip(content, before.tolist(), strict=True)]
    moved = [
        sum(gated[j] * shares[o + 1] for j in range(count) for o in (-1, 0, 1) if (j + o) % count == i)
        for i in range(count)
    ]
    powers = [one**gamma for one in moved]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("masked", [False, True])
def test_all_steps_equal_a_loop_over_the_slots(masked, assert_agrees):
    how, slots, before = address(random(BATCH, DIM)), random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS)
    if masked:
        before = before * MASK / (before * MASK).sum(dim=-1, keepdim=True)
    weights = weights_at(how, slots, before, MASK if masked else None)
    for row, length in enumerate(LENGTHS if masked else [SLOTS] * BATCH):
        of_row = Address(*(part[row] for part in how))
        wanted = loop(of_row, slots[row, :length], before[row, :length])
        assert_agrees("A31", weights[row], exact([*wanted, *[0.0] * (SLOTS - length)]))


def test_the_circle_leaves_out_what_may_not_be_looked_at():
    mask = tensor([True, False, True, True, False])
    moved = shift(tensor([0.5, 9.0, 0.2, 0.3, 9.0]), tensor([0.0, 0.0, 1.0]), mask)
    assert_close(moved, tensor([0.3, 0.0, 0.5, 0.2, 0.0]))


@pytest.mark.parametrize("step", [-2, -1, 0, 1, 2])
def test_a_shift_by_one_distance_rotates(step):
    weights = distribution(BATCH, SLOTS)
    assert_close(shift(weights, one_hot(step + 2)), weights.roll(step, dims=-1))


def test_without_content_shift_or_sharpening_a_head_stays_where_it_was():
    how, before = address(random(BATCH, DIM)), distribution(BATCH, SLOTS)
    zero = torch.zeros(BATCH, dtype=torch.float64)
    stays = how._replace(gate=zero, shares=one_hot(1, 3), gamma=zero + 1)
    assert_close(weights_at(stays, random(BATCH, SLOTS, DIM), before), before)


def test_every_step_keeps_a_distribution():
    how, slots, before = address(random(BATCH, DIM)), random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS)
    content = by_content(how.key, slots, how.strength)
    gated = interpolate(content, before, how.gate)
    moved = shift(gated, how.shares)
    for weights in (content, gated, moved, sharpen(moved, how.gamma)):
        assert bool((weights >= 0).all())
        assert_close(weights.sum(dim=-1), torch.ones(BATCH, dtype=torch.float64))


def test_sharpening_sharpens_without_end_and_without_zero_over_zero():
    weights = distribution(BATCH, 1000).float()
    for gamma in (1.0, 50.0, 1e4):
        sharp = sharpen(weights, torch.full((BATCH,), gamma))
        assert_close(sharp.sum(dim=-1), torch.ones(BATCH))
    assert_close(sharp.argmax(dim=-1), weights.argmax(dim=-1))
    assert bool((sharpen(torch.zeros(BATCH, SLOTS), torch.full((BATCH,), 2.0)) == 0).all())


def test_one_slot_and_none():
    how = address(random(BATCH, DIM))
    assert_close(weights_at(how, random(BATCH, 1, DIM), torch.ones(BATCH, 1).double()), torch.ones(BATCH, 1).double())
    assert weights_at(how, random(BATCH, 0, DIM), torch.zeros(BATCH, 0).double()).shape == (BATCH, 0)


def test_a_row_without_slots_to_look_at_is_zero_with_finite_gradients():
    how, nothing = address(random(BATCH, DIM)), torch.zeros(BATCH, SLOTS, dtype=torch.bool)
    parts = [part.detach().requires_grad_() for part in (*how, random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS))]
    weights = weights_at(Address(*parts[:5]), parts[5], parts[6], nothing)
    assert bool((weights == 0).all())
    weights.square().sum().backward()
    assert all(bool(part.grad.isfinite().all()) for part in parts)


def test_an_even_number_of_shares_has_no_middle():
    with pytest.raises(ValueError, match="2 shares have no middle"):
        shift(distribution(1, SLOTS), distribution(1, 2))


def test_a_zero_vector_is_like_nothing_and_has_finite_gradients():
    key, slots = torch.zeros(BATCH, DIM, requires_grad=True), torch.randn(BATCH, SLOTS, DIM, requires_grad=True)
    weights = by_content(key, slots, torch.ones(BATCH))
    assert_close(weights, torch.full((BATCH, SLOTS), 1 / SLOTS))
    (weights * torch.arange(SLOTS)).sum().backward()  # at even weights their squares would be flat
    assert bool((key.grad == 0).all()) and bool((slots.grad == 0).all())


def test_slots_of_zeros_are_found_by_no_content_and_get_no_gradient():
    for dtype in (torch.float16, torch.float32):
        key, slots = torch.randn(BATCH, DIM).to(dtype), torch.zeros(BATCH, SLOTS, DIM, dtype=dtype, requires_grad=True)
        weights = by_content(key, slots, torch.ones(BATCH, dtype=dtype))
        assert_close(weights, torch.full((BATCH, SLOTS), 1 / SLOTS, dtype=dtype))
        (weights * torch.arange(SLOTS)).sum().backward()
        assert bool((slots.grad == 0).all())


def test_a_head_says_an_address_within_its_bounds(assert_agrees):
    head = AddressHead(STATE, DIM).double().requires_grad_(False)
    state, slots, before = random(BATCH, STATE), random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS)
    weights = head(state, slots, before)
    for row in range(BATCH):
        said = head.from_state.weight @ state[row] + head.from_state.bias
        softplus = [math.log1p(math.exp(said[place].item())) for place in (DIM, DIM + 5)]
        shares = said[DIM + 2 : DIM + 5].softmax(dim=0)
        how = Address(said[:DIM], exact(softplus[0]), said[DIM + 1].sigmoid(), shares, exact(1 + softplus[1]))
        assert_agrees("A31", weights[row], exact(loop(how, slots[row], before[row])))


def test_reading_and_writing_by_loops(assert_agrees):
    slots, weights = random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS)
    erase, add = random(BATCH, DIM).sigmoid(), random(BATCH, DIM)
    written, found = write_slots(slots, weights, erase, add), read_slots(slots, weights)
    for row in range(BATCH):
        assert_agrees("A31", found[row], sum(weights[row, i] * slots[row, i] for i in range(SLOTS)))
        for i in range(SLOTS):
            wanted = slots[row, i] * (1 - weights[row, i] * erase[row]) + weights[row, i] * add[row]
            assert_agrees("A31", written[row, i], wanted)


def test_a_sharp_head_that_erases_all_overwrites_one_slot():
    slots, add = random(BATCH, SLOTS, DIM), random(BATCH, DIM)
    written = write_slots(slots, one_hot(2), torch.ones_like(add), add)
    assert_close(written[:, 2], add)
    assert_close(written[:, [0, 1, 3, 4]], slots[:, [0, 1, 3, 4]], rtol=0, atol=0)


def test_what_a_head_wrote_is_read_where_it_wrote():
    state, slots, before = random(BATCH, STATE), random(BATCH, SLOTS, DIM), distribution(BATCH, SLOTS)
    writer, reader = WriteHead(STATE, DIM).double(), ReadHead(STATE, DIM).double()
    written, place = writer(state, slots, before)
    assert_close(written, write_slots(slots, place, writer.to_erase(state).sigmoid(), writer.to_add(state)))
    found, where = reader(state, written, place)
    assert_close(found, read_slots(written, where))


@pytest.mark.parametrize("scale", [1e3, 1e30])
def test_loud_controllers_do_no_harm(scale):
    head, state = WriteHead(STATE, DIM), (torch.randn(BATCH, STATE) * scale).requires_grad_()
    slots = torch.randn(BATCH, SLOTS, DIM, requires_grad=True)
    written, weights = head(state, slots, torch.full((BATCH, SLOTS), 1 / SLOTS))
    assert_close(weights.sum(dim=-1), torch.ones(BATCH))
    (written.sum() + weights.square().sum()).backward()
    assert bool(state.grad.isfinite().all()) and bool(slots.grad.isfinite().all())


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_finite_differences(masked):
    how, slots = address(random(BATCH, DIM)), random(BATCH, SLOTS, DIM)
    inputs = [part.detach().requires_grad_() for part in (*how, slots, distribution(BATCH, SLOTS))]

    def weights(*parts: Tensor) -> Tensor:
        return weights_at(Address(*parts[:5]), parts[5], parts[6], MASK if masked else None)

    assert torch.autograd.gradcheck(weights, inputs)


def test_a_negative_radius_is_refused():
    with pytest.raises(ConfigError, match=r"radius: is -1"):
        AddressHead(STATE, DIM, radius=-1)
