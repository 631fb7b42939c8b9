"""What a decoder may know its own words by in place of attention."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, Sockets
from regard.decoders.transformer import TransformerDecoder
from regard.layers.embedders.words import WordEmbedder
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.histories import HISTORIES
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
    assert_agrees("C11", layer(inputs, None)[0][0], torch.stack(wanted))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_an_average_with_own_gates_by_hand(activation):
    layer = AverageAttention(DIM, HIDDEN, gates="own", activation=activation, feedforward_dim=5).double()
    functions = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "swish": lambda x: x * torch.sigmoid(x)}
    inputs, network, gate, wanted = random(1, LENGTH, DIM), layer.feedforward, layer.gate, []
    for place, x in enumerate(inputs[0]):
        y = sum(inputs[0, : place + 1]) / (place + 1)
        y = functions[activation](network.to_hidden.weight @ y + network.to_hidden.bias)
        y = network.to_out.weight @ y + network.to_out.bias
        i = torch.sigmoid(gate.word.weight @ x + gate.word.bias)
        f = torch.sigmoid(gate.average.weight @ y + gate.average.bias)
        wanted.append(i * x + f * y)
    assert network.to_hidden.weight.shape == (5, DIM)
    assert_close(layer(inputs, None)[0][0], torch.stack(wanted))


@pytest.mark.parametrize("out_proj", [True, False])
def test_a_block_with_a_recurrent_history_by_hand(out_proj):
    """f = x·Wf + bf; c = σ(f)⊙c' + (1 − σ(f))⊙(x·W); h = LN(x + relu(c)), with a projection of relu(c) or without."""
    block = TransformerBlock(
        DIM, None, None, PositionWise(DIM, HIDDEN), history=RecurrentHistory(DIM, HIDDEN, out_proj=out_proj),
        norm="post", norm_eps=1e-6, dropout=0.0,
    ).double()  # fmt: skip
    block.feedforward.to_out.weight.data.zero_()  # its second norm then changes nothing that counts
    inputs, cell, c, wanted = random(1, LENGTH, DIM), block.history.layer, torch.zeros(DIM).double(), []
    cell.bias.data.normal_()
    for x in inputs[0]:
        f = torch.sigmoid(cell.weight[DIM:] @ x + cell.bias)
        c = f * c + (1 - f) * (cell.weight[:DIM] @ x)
        h = torch.relu(c)
        h = x + (block.history.out_proj.weight @ h + block.history.out_proj.bias if out_proj else h)
        wanted.append(normalised(normalised(h)))
    assert_close(block(inputs, None)[0][0], torch.stack(wanted))
    past, steps = None, []
    for x in inputs.split(1, dim=1):
        step, past = block(x, None, past)
        steps.append(step)
    assert_close(torch.cat(steps, dim=1)[0], torch.stack(wanted))


def normalised(x: Tensor) -> Tensor:
    """(x - mean) / sqrt(variance + 1e-6)."""
    return (x - x.mean()) / ((x - x.mean()).square().mean() + 1e-6).sqrt()


def test_an_average_is_uniform_attention_to_what_was_written(assert_agrees):
    """Self-attention whose scores are all the same, over the words so far."""
    layer, inputs = AverageAttention(DIM, HIDDEN, feedforward=False, gate=False), random(2, LENGTH, DIM)
    seen = torch.ones(LENGTH, LENGTH).tril().double()
    wanted = (seen / seen.sum(dim=1, keepdim=True)) @ inputs
    assert_agrees("C11", layer(inputs, None)[0], wanted, tolerance=1e-12)


def test_what_is_kept_of_the_words_never_grows():
    inputs = random(2, LENGTH, DIM)
    for layer in (AverageAttention(DIM, HIDDEN), RecurrentHistory(DIM, HIDDEN)):
        sizes = [sum(one.numel() for one in layer.double()(inputs[:, :n], None)[1]) for n in (1, LENGTH)]
        assert sizes[0] == sizes[1]


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
    assert all(block.own is None for block in state.layers)


def test_a_block_has_one_way_to_know_its_own_words():
    own, history = build_attention(AttentionSettings(), DIM, DIM, causal=True), AverageAttention(DIM, HIDDEN)
    for both in ((None, None), (own, history)):
        with pytest.raises(ValueError, match="give one of them"):
            TransformerBlock(DIM, both[0], None, PositionWise(DIM, HIDDEN), history=both[1])


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("history", [Choice("average", {"feedforward": False, "gate": False}), Choice("recurrent")])
def test_a_long_text_in_half_precision_word_by_word_equals_all_at_once(dtype, history):
    """Of 800 words: bfloat16 counts to 256, and a sum of them rounds every new one away."""
    layer = HISTORIES.build(history, 4, 8).to(dtype)
    words = (torch.randn(2, 800, 4) + 2).to(dtype)
    whole, past, steps = layer(words, None)[0], None, []
    for word in words.split(1, dim=1):
        step, past = layer(word, None, past)
        steps.append(step)
    assert whole.dtype == dtype
    resolution = 2 * torch.finfo(dtype).eps
    assert_close(torch.cat(steps, dim=1), whole, rtol=resolution, atol=resolution)
    exact, _ = layer.double()(words.double(), None)
    assert_close(whole.double(), exact, rtol=4 * resolution, atol=4 * resolution)
