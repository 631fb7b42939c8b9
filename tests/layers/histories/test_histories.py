"""What a decoder may know its own words by in place of attention."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, Sockets
from regard.decoders.transformer import TransformerDecoder
from regard.layers.embedders.words import WordEmbedder
from regard.layers.feedforwards import PositionWise
from regard.layers.histories.average import AverageAttention
from regard.layers.histories.recurrent import RecurrentHistory
from regard.layers.transformer_block import TransformerBlock
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded
from regard.registry import Choice

DIM, HIDDEN, LENGTH = 4, 7, 6


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("feedforward", [True, False])
def test_an_average_by_hand(feedforward, gate, assert_agrees):
    layer = AverageAttention(DIM, HIDDEN, feedforward=feedforward, gate=gate).double()
    inputs = random(1, LENGTH, DIM)
    wanted = []
    for place, y in enumerate(inputs[0]):
        g = sum(inputs[0, : place + 1]) / (place + 1)
        if feedforward:
            network = layer.feedforward
            g = network.to_out.weight @ (network.to_hidden.weight @ g + network.to_hidden.bias).clamp(min=0)
            g = g + network.to_out.bias
        if gate:
            i, f = (layer.gate.weight @ torch.cat([y, g]) + layer.gate.bias).sigmoid().chunk(2)
            g = i * y + f * g
        wanted.append(g)
    assert_agrees("A33", layer(inputs, None)[0][0], torch.stack(wanted))


def test_an_average_is_uniform_attention_to_what_was_written():
    """Self-attention whose scores are all the same, over the words so far."""
    layer, inputs = AverageAttention(DIM, HIDDEN, feedforward=False, gate=False), random(2, LENGTH, DIM)
    seen = torch.ones(LENGTH, LENGTH).tril().double()
    assert_close(layer(inputs, None)[0], (seen / seen.sum(dim=1, keepdim=True)) @ inputs)


def test_what_is_kept_of_the_words_never_grows():
    inputs = random(2, LENGTH, DIM)
    for layer in (AverageAttention(DIM, HIDDEN), RecurrentHistory(DIM, HIDDEN)):
        sizes = [sum(one.numel() for one in layer.double()(inputs[:, :n], None)[1]) for n in (1, LENGTH)]
        assert sizes[0] == sizes[1]


def test_gradients_are_those_of_finite_differences():
    layer, mask = AverageAttention(DIM, HIDDEN).double(), torch.arange(LENGTH) < torch.tensor([[6], [2], [0]])
    assert torch.autograd.gradcheck(lambda some: layer(some, mask)[0], random(3, LENGTH, DIM).requires_grad_())


def test_a_decoder_with_a_history_builds_no_attention_to_itself():
    def cross(query_dim: int, key_dim: int) -> Attention:
        return build_attention(AttentionSettings(num_heads=2), query_dim, key_dim)

    def never(dim: int) -> Attention:
        raise AssertionError("its words are known by other means")

    decoder = TransformerDecoder(
        WordEmbedder(9, DIM, dropout=0.0), DIM, Sockets(cross, never, never), num_layers=2, feedforward_dim=6,
        history=Choice("recurrent", {"cell": Choice("ssru")}),
    ).double()  # fmt: skip
    seen = Encoded(random(2, 5, DIM), torch.ones(2, 5, dtype=torch.bool), random(2, DIM))
    decoded, state = decoder(torch.tensor([[1, 4, 5], [1, 7, 2]]), decoder.start(seen), need_weights=True)
    assert decoded.states.shape == (2, 3, DIM) and decoded.weights.shape == (2, 3, 5)
    assert all(block.own is None for block in state.blocks)


def test_a_block_has_one_way_to_know_its_own_words():
    own, history = build_attention(AttentionSettings(), DIM, DIM, causal=True), AverageAttention(DIM, HIDDEN)
    for both in ((None, None), (own, history)):
        with pytest.raises(ValueError, match="give one of them"):
            TransformerBlock(DIM, both[0], None, PositionWise(DIM, HIDDEN), history=both[1])
