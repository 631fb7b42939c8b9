"""Encoders in sequence and in parallel are what their parts make of each other."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders import ENCODERS
from regard.encoders.encoder import Encoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.errors import ConfigError
from regard.models import AttentionSettings, build_attention
from regard.records import Sequences
from regard.registry import Choice

DIM = 8
PARTS = (
    Choice("convolutional", {"hidden_dim": 6, "num_layers": 1}),
    Choice("recurrent", {"hidden_dim": 3}),
    Choice("self_attention"),
)


def sockets() -> Sockets:
    own = AttentionSettings(num_heads=2)
    return Sockets(None, lambda dim: build_attention(own, dim, dim), None)


def build(name: str, encoders: tuple[Choice, ...]) -> Encoder:
    return ENCODERS.build(Choice(name, {"encoders": encoders, "dropout": 0.0}), DIM, sockets()).double()


@pytest.fixture
def source() -> Sequences:
    return Sequences(torch.randn(3, 5, DIM, dtype=torch.float64), torch.arange(5) < torch.tensor([[5], [2], [0]]))


def test_in_sequence_each_reads_the_one_before(source, assert_agrees):
    encoder = build("sequential", PARTS[:2])
    first, second = encoder.stages
    below = first(source)
    wanted = second(Sequences(below.states, below.mask))
    found = encoder(source)
    assert_agrees("B25", found.states, wanted.states, tolerance=0.0)
    assert_agrees("B25", found.final, wanted.final, tolerance=0.0)
    assert_close(found.past, wanted.past, rtol=0, atol=0)
    assert found.values is None  # what the first would have read is of another width
    assert encoder.dim == 6 == found.states.shape[-1]


def test_in_parallel_all_stand_side_by_side(source, assert_agrees):
    encoder = build("parallel", PARTS)
    found, parts = encoder(source), [branch(source) for branch in encoder.branches]
    assert_agrees("B25", found.states, torch.cat([part.states for part in parts], dim=-1), tolerance=0.0)
    assert_agrees("B25", found.final, torch.cat([part.final for part in parts], dim=-1), tolerance=0.0)
    assert torch.equal(found.mask, source.mask)
    assert encoder.dim == DIM + 6 + DIM == found.states.shape[-1]


def test_what_one_has_read_in_place_of_its_states_stands_beside_the_others(source, assert_agrees):
    encoder = build("parallel", PARTS)
    found, parts = encoder(source), [branch(source) for branch in encoder.branches]
    assert [part.values is None for part in parts].count(False) == 1  # the convolutional one's z + e
    assert_agrees("B25", found.read, torch.cat([part.read for part in parts], dim=-1), tolerance=0.0)
    assert not torch.equal(found.read, found.states)


def test_beside_one_that_unfolds_the_others_end_in_zeros(source):
    encoder = build("parallel", (Choice("unfolded", {"ratio": 2.0}), PARTS[1]))
    found = encoder(source)
    assert found.mask.sum(dim=1).tolist() == [10, 4, 0]
    assert bool((found.states[:, 5:, DIM:] == 0).all()) and bool((found.states[1, 2:, DIM:] == 0).all())


def test_parts_that_are_given_no_dropout_take_that_of_the_whole():
    parts = (Choice("recurrent", {"hidden_dim": 3}), Choice("recurrent", {"hidden_dim": 3, "dropout": 0.5}))
    encoder = ENCODERS.build(Choice("sequential", {"encoders": parts, "dropout": 0.25}), DIM, sockets())
    assert [stage.dropout.probability for stage in encoder.stages] == [0.25, 0.5]


@pytest.mark.parametrize("name", ["sequential", "parallel"])
@pytest.mark.parametrize("part", sorted(ENCODERS))
def test_any_encoder_may_be_a_part(name, part, source):
    sizes = {"hidden_dim": 3, "num_layers": 1, "feedforward_dim": 6}
    choice = Choice(part, {size: value for size, value in sizes.items() if size in ENCODERS.settings(part)})
    encoder = build(name, (choice, choice))
    assert encoder(source).states.shape[-1] == encoder.dim


def test_a_chain_may_stand_beside_others(source, assert_agrees):
    chain = Choice("sequential", {"encoders": PARTS[:2]})
    encoder = build("parallel", (chain, PARTS[1]))
    found = encoder(source)
    assert_agrees("B25", found.states[..., :6], encoder.branches[0](source).states, tolerance=0.0)
    assert encoder.dim == 12


def test_others_may_stand_in_a_chain(source, assert_agrees):
    both = Choice("parallel", {"encoders": PARTS[:2]})
    encoder = build("sequential", (both, PARTS[1]))
    first, second = encoder.stages
    below = first(source)
    wanted = second(Sequences(below.states, below.mask))
    assert_agrees("B25", encoder(source).states, wanted.states, tolerance=0.0)
    assert below.states.shape[-1] == DIM + 6


def test_they_nest_to_any_depth_and_take_the_dropout_of_the_whole():
    inner = Choice("recurrent", {"hidden_dim": 3})
    for name in ("sequential", "parallel") * 3:
        inner = Choice(name, {"encoders": (inner,)})
    encoder = ENCODERS.build(Choice("sequential", {"encoders": (inner,), "dropout": 0.25}), DIM, sockets())
    assert [one.dropout.probability for one in encoder.modules() if isinstance(one, RecurrentEncoder)] == [0.25]


def test_inner_faults_have_their_full_place():
    inner = Choice("recurrent", {"num_layers": 2, "bidirectional": "lowest", "residual_from": 2})
    with pytest.raises(ConfigError, match=r"^model\.encoder\.encoders\.1\.encoders\.0\.residual_from: layer 2 reads"):
        build("sequential", (Choice("self_attention"), Choice("parallel", {"encoders": (inner,)})))
