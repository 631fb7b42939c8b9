"""How far an encoder runs over its source, and what stands behind the source's end."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders.bytenet import ByteNetEncoder
from regard.encoders.encoder import Encoder
from regard.encoders.unfolded import UnfoldedEncoder, Unfolding
from regard.records import Sequences

DIM = 4


def none_at_all(*_: int) -> None:
    raise AssertionError("this encoder builds no attention")


SOCKETS = Sockets(none_at_all, none_at_all, none_at_all)


def source(lengths: list[int]) -> Sequences:
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(-1)
    return Sequences(torch.randn(len(lengths), longest, DIM, dtype=torch.float64), mask)


def bytenet(**settings: object) -> ByteNetEncoder:
    small = {"hidden_dim": 3, "num_layers": 3, "dilations": (1, 2, 4), "dropout": 0.0, **settings}
    return ByteNetEncoder(DIM, SOCKETS, **small).double()


@pytest.mark.parametrize(
    ("ratio", "extra", "lengths"),
    [
        (1.2, 0, {0: 0, 1: 1, 5: 6, 10: 12, 25: 30}),
        (1.0, 0, {0: 0, 1: 1, 7: 7}),
        (0.5, 3, {0: 0, 1: 4, 4: 5, 10: 10}),  # nothing of the source is lost
        (1.1, 2, {10: 13, 20: 24}),
    ],
)
def test_lengths_by_hand(ratio, extra, lengths):
    unfolding = Unfolding(DIM, ratio=ratio, extra=extra)
    assert unfolding.lengths(torch.tensor(list(lengths))).tolist() == list(lengths.values())


def test_a_learned_vector_stands_behind_the_end():
    unfolding = Unfolding(DIM, ratio=2.0).double()
    torch.nn.init.normal_(unfolding.padding)
    given = source([3, 1, 0])
    items, mask = unfolding(given)
    assert mask.sum(dim=1).tolist() == [6, 2, 0]
    assert_close(items[0, :3], given.items[0])
    assert_close(items[0, 3:], unfolding.padding.expand(3, -1))
    assert_close(items[1, :2], torch.stack([given.items[1, 0], unfolding.padding]))
    assert bool((items[1, 2:] == 0).all()) and bool((items[2] == 0).all())


@pytest.mark.parametrize("encoder", [bytenet(ratio=1.5), UnfoldedEncoder(DIM, SOCKETS, ratio=1.5).double()])
def test_there_are_as_many_states_as_places(encoder: Encoder):
    seen = encoder(source([6, 2, 0]))
    assert seen.states.shape == (3, 9, encoder.dim) and seen.mask.sum(dim=1).tolist() == [9, 3, 0]


@pytest.mark.parametrize("block", ["relu", "multiplicative"])
def test_a_state_sees_the_field_of_its_convolutions_on_both_sides(block, assert_agrees):
    """Three blocks of kernels 3 with dilations 1, 2 and 4: 7 to either side."""
    encoder = bytenet(block=block, ratio=1.0)
    items = torch.randn(1, 20, DIM, dtype=torch.float64, requires_grad=True)
    states = encoder(Sequences(items, torch.ones(1, 20, dtype=torch.bool))).states
    (gradient,) = torch.autograd.grad(states[0, 9].sum(), items)
    assert_agrees("C07", gradient[0].abs().sum(dim=-1).nonzero().flatten(), torch.arange(2, 17), tolerance=0.0)


def test_dilations_go_round():
    blocks = bytenet(num_layers=5, dilations=(1, 8)).blocks.layers
    assert [block.middle.dilation for block in blocks] == [1, 8, 1, 8, 1]


def test_places_behind_the_end_know_of_the_source():
    """The decoder may write more than there is to be read."""
    encoder, given = bytenet(ratio=2.0), source([3])
    items = given.items.requires_grad_()
    states: Tensor = encoder(Sequences(items, given.mask)).states
    (gradient,) = torch.autograd.grad(states[0, 5].sum(), items)
    assert gradient.abs().sum() > 0
