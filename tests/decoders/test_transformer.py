"""The decoder of the transformer against torch's, and which of its layers tells the alignment."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Sockets, recording
from regard.decoders.transformer import TransformerDecoder
from regard.layers.embedders.words import WordEmbedder
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded

VOCAB, DIM, HEADS, HIDDEN, LAYERS = 9, 8, 2, 12, 3
MASK = torch.arange(5) < torch.tensor([[5], [2]])
IDS = torch.tensor([[1, 4, 5, 6], [1, 7, 7, 3]])


def decoder(**settings: object) -> TransformerDecoder:
    heads = AttentionSettings(num_heads=HEADS)
    sockets = Sockets(
        lambda query_dim, key_dim: build_attention(heads, query_dim, key_dim),
        lambda dim: build_attention(heads, dim, dim),
        lambda dim: build_attention(heads, dim, dim, causal=True),
    )
    embedder = WordEmbedder(VOCAB, DIM, dropout=0.0)
    made = TransformerDecoder(embedder, DIM, sockets, num_layers=LAYERS, feedforward_dim=HIDDEN, **settings)
    for parameter in made.double().parameters():
        nn.init.normal_(parameter, std=0.4)
    return made.eval()


def encoded() -> Encoded:
    states = torch.randn(2, 5, DIM, dtype=torch.float64)
    return Encoded(states, MASK, states.sum(dim=1))


def copied(theirs: nn.MultiheadAttention, mine: nn.Module) -> None:
    linears = (mine.heads.from_query, mine.heads.from_key, mine.heads.from_value)
    theirs.in_proj_weight.data = torch.cat([linear.weight.data for linear in linears])
    theirs.in_proj_bias.data = torch.cat([linear.bias.data for linear in linears])
    theirs.out_proj.load_state_dict(mine.heads.to_out.state_dict())


def as_torchs(model: TransformerDecoder, norm: str) -> nn.TransformerDecoder:
    layer = nn.TransformerDecoderLayer(DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre")
    last = nn.LayerNorm(DIM) if norm == "pre" else None
    theirs = nn.TransformerDecoder(layer, LAYERS, norm=last).double().eval()
    for mine, other in zip(model.blocks, theirs.layers, strict=True):
        copied(other.self_attn, mine.own)
        copied(other.multihead_attn, mine.cross)
        for theirs_norm, mine_norm in (
            (other.norm1, mine.own_norm), (other.norm2, mine.cross_norm), (other.norm3, mine.feedforward_norm)
        ):  # fmt: skip
            theirs_norm.load_state_dict(mine_norm.state_dict())
        other.linear1.load_state_dict(mine.feedforward.to_hidden.state_dict())
        other.linear2.load_state_dict(mine.feedforward.to_out.state_dict())
    if last is not None:
        theirs.norm.load_state_dict(model.norm.state_dict())
    return theirs


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_equals_torch(norm, assert_agrees):
    model, seen = decoder(norm=norm), encoded()
    vectors, _ = model.embedder(IDS)
    blocked = torch.ones(4, 4, dtype=torch.bool).triu(1)
    wanted: Tensor = as_torchs(model, norm)(vectors, seen.states, tgt_mask=blocked, memory_key_padding_mask=~MASK)
    assert_agrees("C11", model(IDS, model.start(seen))[0].states, wanted, tolerance=1e-10)


@pytest.mark.parametrize(("alignment_layer", "layer"), [(0, 0), (1, 1), (2, 2), (-1, 2), (-2, 1), (-3, 0)])
def test_the_alignment_is_the_mean_of_the_heads_of_the_layer_that_was_named(alignment_layer, layer):
    model, seen = decoder(alignment_layer=alignment_layer), encoded()
    with recording(model) as records:
        decoded, _ = model(IDS, model.start(seen), need_weights=True)
    looked = [records[f"blocks.{number}.cross"].answers[0].weights.mean(dim=1) for number in range(LAYERS)]
    assert_close(decoded.weights, looked[layer], rtol=0, atol=1e-12)
    assert all(not torch.allclose(decoded.weights, looked[other]) for other in range(LAYERS) if other != layer)
