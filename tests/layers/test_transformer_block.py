"""The block against torch's own layers, the feed-forward against convolutions, positions against their identities."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from regard.dropout import dropout
from regard.layers.embedders.words import WordEmbedder
from regard.layers.feedforward import FeedForward
from regard.layers.positions.sinusoidal import TABLE, SinusoidalPosition, sinusoids
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.models import AttentionSettings, build_attention

DIM, HEADS, HIDDEN = 8, 2, 12


def block(norm: str, *, cross: bool, causal: bool) -> TransformerBlock:
    settings = AttentionSettings(num_heads=HEADS)
    return TransformerBlock(
        DIM,
        build_attention(settings, DIM, DIM, causal=causal),
        build_attention(settings, DIM, DIM) if cross else None,
        FeedForward(DIM, HIDDEN),
        norm=norm,
        dropout=0.0,
    ).double()


def copy_attention(mine, theirs: nn.MultiheadAttention) -> None:
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    linears = (mine.heads.from_query, mine.heads.from_key, mine.heads.from_value)
    for linear, weight, bias in zip(linears, weights, biases, strict=True):
        linear.weight.data, linear.bias.data = weight.data, bias.data
    mine.heads.to_out.load_state_dict(theirs.out_proj.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_encoder_block_equals_torch(norm):
    theirs = nn.TransformerEncoderLayer(DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre").double()
    mine = block(norm, cross=False, causal=False)
    copy_attention(mine.own, theirs.self_attn)
    mine.own_norm.load_state_dict(theirs.norm1.state_dict())
    mine.feedforward_norm.load_state_dict(theirs.norm2.state_dict())
    mine.feedforward.to_hidden.load_state_dict(theirs.linear1.state_dict())
    mine.feedforward.to_out.load_state_dict(theirs.linear2.state_dict())
    states, mask = torch.randn(2, 5, DIM, dtype=torch.float64), torch.arange(5) < torch.tensor([[5], [3]])
    wanted = theirs(states, src_key_padding_mask=~mask)
    assert_close(mine(states, mask)[0][mask], wanted[mask])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_equals_torch(norm):
    theirs = nn.TransformerDecoderLayer(DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre").double()
    mine = block(norm, cross=True, causal=True)
    copy_attention(mine.own, theirs.self_attn)
    copy_attention(mine.cross, theirs.multihead_attn)
    for ours, torchs in (
        (mine.own_norm, theirs.norm1),
        (mine.cross_norm, theirs.norm2),
        (mine.feedforward_norm, theirs.norm3),
    ):
        ours.load_state_dict(torchs.state_dict())
    mine.feedforward.to_hidden.load_state_dict(theirs.linear1.state_dict())
    mine.feedforward.to_out.load_state_dict(theirs.linear2.state_dict())
    target, source = torch.randn(2, 4, DIM, dtype=torch.float64), torch.randn(2, 5, DIM, dtype=torch.float64)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    blocked = torch.ones(4, 4, dtype=torch.bool).triu(1)
    wanted = theirs(target, source, tgt_mask=blocked, memory_key_padding_mask=~mask)
    outputs, _, _ = mine.run(target, None, BlockPast(), mine.cross.remember(source, mask=mask))
    assert_close(outputs, wanted)


def test_causal_block_in_chunks_equals_the_whole():
    layer = block("pre", cross=False, causal=True)
    states = torch.randn(2, 6, DIM, dtype=torch.float64)
    whole, _ = layer(states, None)
    past, pieces = None, []
    for some in states.split([1, 2, 3], dim=1):
        piece, past = layer(some, None, past)
        pieces.append(piece)
    assert_close(torch.cat(pieces, dim=1), whole)


def test_feed_forward_equals_two_convolutions_of_width_one():
    layer, states = FeedForward(DIM, HIDDEN).double(), torch.randn(2, 5, DIM, dtype=torch.float64)
    hidden = functional.conv1d(states.mT, layer.to_hidden.weight.unsqueeze(-1), layer.to_hidden.bias).relu()
    wanted = functional.conv1d(hidden, layer.to_out.weight.unsqueeze(-1), layer.to_out.bias).mT
    assert_close(layer(states), wanted)


@pytest.mark.parametrize("dim", [8, 7])
def test_sinusoids_by_hand(dim):
    vectors = SinusoidalPosition(dim)(3, 2)
    for row, place in enumerate((3, 4)):
        for feature in range(dim):
            angle = place / 10000 ** ((feature - feature % 2) / dim)
            wanted = math.cos(angle) if feature % 2 else math.sin(angle)
            assert vectors[row, feature].item() == pytest.approx(wanted, abs=1e-6)


def test_a_shift_of_places_is_a_rotation():
    places, shift, dim = torch.arange(50), 7, 16
    before, after = sinusoids(places, dim).double(), sinusoids(places + shift, dim).double()
    for pair in range(dim // 2):
        angle = shift / 10000 ** (2 * pair / dim)
        turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]).double()
        columns = slice(2 * pair, 2 * pair + 2)
        assert_close(before[:, columns] @ turn, after[:, columns], atol=1e-5, rtol=0)


def test_places_beyond_the_table_are_computed():
    position = SinusoidalPosition(8)
    assert_close(position(TABLE - 2, 4), sinusoids(torch.arange(TABLE - 2, TABLE + 2), 8))


@pytest.mark.parametrize("merge", ["add", "concatenate"])
def test_embedder_in_chunks_equals_the_whole(merge):
    embedder = WordEmbedder(10, 8, SinusoidalPosition(8), merge=merge, dropout=0.0)
    ids = torch.randint(0, 10, (2, 6))
    whole, count = embedder(ids)
    first, past = embedder(ids[:, :4])
    second, past = embedder(ids[:, 4:], past)
    assert_close(torch.cat([first, second], dim=1), whole)
    assert count == past == 6 and whole.shape[-1] == embedder.dim


def test_dropout_keeps_the_mean_and_scales_what_is_kept():
    inputs = torch.ones(400, 500, requires_grad=True)
    outputs = dropout(inputs, 0.25)
    kept = outputs != 0
    assert outputs[kept].unique().tolist() == [pytest.approx(4 / 3)]
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.005)
    outputs.sum().backward()
    assert_close(inputs.grad, outputs.detach())


def test_dropout_draws_from_the_generator_that_a_checkpoint_saves():
    state = torch.get_rng_state()
    first = dropout(torch.ones(99), 0.5)
    torch.set_rng_state(state)
    assert_close(first, dropout(torch.ones(99), 0.5))


def test_dropout_is_nothing_in_evaluation():
    inputs = torch.randn(5)
    assert dropout(inputs, 0.5, training=False) is inputs
