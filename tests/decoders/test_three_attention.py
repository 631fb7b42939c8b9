"""The translator of three attentions is the composition of torch's."""

import pytest
import torch
from networks import build_translator
from torch import nn

from regard.attention import Attention
from regard.models import ROUTE, AttentionSettings, Translator
from regard.models.translator import shifted
from regard.records import Batch, Sequences
from regard.registry import Choice

VOCAB, DIM, HEADS = 11, 8, 2
HEADED = AttentionSettings(num_heads=HEADS)


def translator(num_layers: int, residual: bool) -> Translator:
    given = {"num_layers": num_layers, "residual": residual}
    settings = dict(
        dim=DIM,
        encoder=Choice("self_attention", given),
        decoder=Choice("three_attention", given),
        attention=HEADED,
        self_attention=HEADED,
        dropout=0.0,
    )
    return build_translator(settings, VOCAB, VOCAB).double().eval()


def torchs(attention: Attention) -> nn.MultiheadAttention:
    heads = attention.heads
    theirs = nn.MultiheadAttention(DIM, HEADS, batch_first=True).double()
    linears = (heads.from_query, heads.from_key, heads.from_value)
    theirs.in_proj_weight.data = torch.cat([linear.weight for linear in linears])
    theirs.in_proj_bias.data = torch.cat([linear.bias for linear in linears])
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = heads.to_out.weight, heads.to_out.bias
    return theirs


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("residual", [False, True])
def test_equals_torchs_attentions(num_layers, residual, assert_agrees):
    model = translator(num_layers, residual)
    reader, decoder = model.encoders[ROUTE], model.decoders[ROUTE]
    source = Sequences(torch.randint(4, VOCAB, (2, 5)), torch.arange(5) < torch.tensor([[5], [3]]))
    target = Sequences(torch.randint(4, VOCAB, (2, 4)), torch.ones(2, 4, dtype=torch.bool))
    batch = Batch({"source": source, "target": target}, ROUTE, torch.arange(2), 8)

    def joined(before, seen):
        return before + seen if residual else seen

    states, blocked = reader.embedder(source.items)[0], ~source.mask
    for layer in reader.encoder.layers:
        states = joined(states, torchs(layer)(states, states, states, key_padding_mask=blocked)[0])
    written, _ = decoder.embedder(shifted(target.items))
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    for layer in decoder.layers:
        query = joined(written, torchs(layer.own)(written, written, written, attn_mask=later)[0])
        written = joined(query, torchs(layer.cross)(query, states, states, key_padding_mask=blocked)[0])
    assert_agrees("C12", model.decode(batch)[0].states, written)


def test_nothing_but_attention_has_weights():
    model = translator(1, False)
    kept = {name.split(".")[-2] for name, _ in model.named_parameters() if "table" not in name and "head" not in name}
    assert kept <= {"from_query", "from_key", "from_value", "to_out"}
