"""The block against torch's own layers, and the feed-forward against convolutions."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.errors import PartError
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.transformer_block import BlockPast, TransformerBlock, init_deepnet
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded

DIM, HEADS, HIDDEN = 8, 2, 12


def block(norm: str, *, cross: bool, causal: bool) -> TransformerBlock:
    settings = AttentionSettings(num_heads=HEADS)
    return TransformerBlock(
        DIM,
        build_attention(settings, DIM, DIM, causal=causal),
        build_attention(settings, DIM, DIM) if cross else None,
        PositionWise(DIM, HIDDEN),
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
def test_encoder_block_equals_torch(norm, assert_agrees):
    theirs = nn.TransformerEncoderLayer(DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre").double()
    mine = block(norm, cross=False, causal=False)
    copy_attention(mine.own, theirs.self_attn)
    mine.own_norm.load_state_dict(theirs.norm1.state_dict())
    mine.feedforward_norm.load_state_dict(theirs.norm2.state_dict())
    mine.feedforward.to_hidden.load_state_dict(theirs.linear1.state_dict())
    mine.feedforward.to_out.load_state_dict(theirs.linear2.state_dict())
    states, mask = torch.randn(2, 5, DIM, dtype=torch.float64), torch.arange(5) < torch.tensor([[5], [3]])
    wanted = theirs(states, src_key_padding_mask=~mask)
    assert_agrees("B23", mine(states, mask)[0][mask], wanted[mask], tolerance=1e-10)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_equals_torch(norm, assert_agrees):
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
    seen = mine.begin(Encoded(source, mask, source[:, 0]))
    outputs, _, _ = mine.run(target, None, BlockPast(), seen)
    assert_agrees("B23", outputs, wanted, tolerance=1e-10)


def test_causal_block_in_chunks_equals_the_whole(assert_agrees):
    layer = block("pre", cross=False, causal=True)
    states = torch.randn(2, 6, DIM, dtype=torch.float64)
    whole, _ = layer(states, None)
    past, pieces = None, []
    for some in states.split([1, 2, 3], dim=1):
        piece, past = layer(some, None, past)
        pieces.append(piece)
    assert_agrees("B23", torch.cat(pieces, dim=1), whole, tolerance=1e-10)


def test_feed_forward_equals_two_convolutions_of_width_one(assert_agrees):
    layer, states = PositionWise(DIM, HIDDEN).double(), torch.randn(2, 5, DIM, dtype=torch.float64)
    hidden = functional.conv1d(states.mT, layer.to_hidden.weight.unsqueeze(-1), layer.to_hidden.bias).relu()
    wanted = functional.conv1d(hidden, layer.to_out.weight.unsqueeze(-1), layer.to_out.bias).mT
    assert_agrees("B22", layer(states)[0], wanted, tolerance=1e-12)


def test_deepnet_init_is_the_block_of_the_paper_with_alpha_in_its_outputs():
    """LN(alpha · x + f(x)), where values, outputs and feed-forward of f are beta times as large (arXiv:2203.00555)."""
    alpha, beta, x = 1.7, 0.4, torch.randn(2, 5, DIM, dtype=torch.float64)
    plain = block("post", cross=False, causal=False)
    made = deepcopy(plain)
    init_deepnet([made], alpha, beta)
    heads, below = plain.own.heads, plain.feedforward
    for linear in (heads.from_value, heads.to_out, below.to_hidden, below.to_out):
        linear.weight.data *= beta
    seen = plain.own(x, plain.own.remember(x)).context
    middle = functional.layer_norm(alpha * x + seen, (DIM,), eps=1e-5 * alpha**2)  # that of x + f(x) / alpha is 1e-5
    wanted = functional.layer_norm(alpha * middle + below(middle)[0], (DIM,), eps=1e-5 * alpha**2)
    assert torch.allclose(made(x, torch.ones(2, 5, dtype=torch.bool))[0], wanted, atol=1e-10)


def test_deepnet_init_of_a_pre_norm_block_is_refused():
    with pytest.raises(PartError, match="is for blocks of norm post"):
        init_deepnet([block("pre", cross=False, causal=False)], 1.7, 0.4)
