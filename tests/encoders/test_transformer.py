"""The encoder of the transformer against torch's, and its one vector for a sentence."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders.transformer import TransformerEncoder
from regard.models import AttentionSettings, build_attention
from regard.records import Sequences
from regard.registry import Choice

DIM, HEADS, HIDDEN, LENGTH = 8, 2, 12, 6
LENGTHS = [6, 3, 0]


def encoder(norm: str, **changes: object) -> TransformerEncoder:
    settings = AttentionSettings(num_heads=HEADS)
    sockets = Sockets(*[lambda dim, key_dim=DIM: build_attention(settings, dim, key_dim)] * 3)
    return TransformerEncoder(DIM, sockets, num_layers=2, feedforward_dim=HIDDEN, norm=norm, **changes).double().eval()


@pytest.fixture(params=["pre", "post"])
def norm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def source() -> Sequences:
    vectors = torch.randn(len(LENGTHS), LENGTH, DIM, dtype=torch.float64)
    return Sequences(vectors, torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1))


def as_torchs(model: TransformerEncoder, norm: str, **changes: object) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(DIM, HEADS, HIDDEN, 0.0, batch_first=True, norm_first=norm == "pre", **changes)
    last = nn.LayerNorm(DIM) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False).double().eval()
    for mine, other in zip(model.blocks, theirs.layers, strict=True):
        heads = mine.own.heads
        linears = (heads.from_query, heads.from_key, heads.from_value)
        other.self_attn.in_proj_weight.data = torch.cat([linear.weight.data for linear in linears])
        other.self_attn.in_proj_bias.data = torch.cat([linear.bias.data for linear in linears])
        other.self_attn.out_proj.load_state_dict(heads.to_out.state_dict())
        other.norm1.load_state_dict(mine.own_norm.state_dict())
        other.norm2.load_state_dict(mine.feedforward_norm.state_dict())
        other.linear1.load_state_dict(mine.feedforward.to_hidden.state_dict())
        other.linear2.load_state_dict(mine.feedforward.to_out.state_dict())
    return theirs


def test_equals_torch_where_there_are_words(norm, source, assert_agrees):
    model = encoder(norm)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    theirs = as_torchs(model, norm)
    if norm == "pre":
        theirs.norm.load_state_dict(model.norm.state_dict())
    wanted: Tensor = theirs(source.items[:2], src_key_padding_mask=~source.mask[:2])
    seen = model(source)
    assert_agrees("C11", seen.states[:2][source.mask[:2]], wanted[source.mask[:2]], tolerance=1e-10)


def test_final_is_the_mean_of_the_states(norm, source):
    seen = encoder(norm)(source)
    for row, length in enumerate(LENGTHS):
        assert_close(seen.final[row], seen.states[row, :length].sum(dim=0) / max(length, 1))


def test_the_order_of_words_is_known_from_positions_alone(norm, source):
    """Without positions, permuting the words permutes the states."""
    model, order = encoder(norm), torch.randperm(LENGTH)
    everywhere = source._replace(mask=torch.ones_like(source.mask))
    moved = everywhere._replace(items=source.items[:, order])
    assert_close(model(moved).states, model(everywhere).states[:, order])


def test_blocks_of_bert_equal_those_of_torch(source, assert_agrees):
    model = encoder("post", feedforward=Choice("gelu"), norm_eps=1e-3)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    theirs = as_torchs(model, "post", activation="gelu", layer_norm_eps=1e-3)
    wanted: Tensor = theirs(source.items[:2], src_key_padding_mask=~source.mask[:2])
    mask = source.mask[:2]
    assert_agrees("E06", model(Sequences(source.items[:2], mask)).states[mask], wanted[mask])
