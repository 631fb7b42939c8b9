"""Rows may be repeated before their first word is written, as sampling several answers does."""

import pytest
import torch
from networks import build_translator
from torch.testing import assert_close

from regard.attention import SCORES, SPANS
from regard.decoders import DECODERS
from regard.models import ROUTE, AttentionSettings
from regard.records import BOS, Batch, Sequences
from regard.registry import Choice

SMALL = {"num_layers": 1, "hidden_dim": 8, "feedforward_dim": 12}
SOURCE = Sequences(torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0]]), torch.tensor([[True] * 4, [True, True, False, False]]))


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("attention", [("score", s) for s in SCORES] + [("span", s) for s in SPANS], ids="-".join)
@pytest.mark.parametrize("num_heads", [1, 2])
def test_rows_repeated_before_the_first_word_write_as_one_would(decoder, attention, num_heads):
    place, name = attention
    chosen = {"score": Choice("additive"), place: (Choice(name),) if place == "span" else Choice(name)}
    settings = dict(
        dim=8,
        encoder=Choice("recurrent", {"hidden_dim": 4}),
        decoder=Choice(decoder, {size: SMALL[size] for size in DECODERS.settings(decoder) if size in SMALL}),
        attention=AttentionSettings(**chosen, num_heads=num_heads),
        self_attention=AttentionSettings(num_heads=2),
    )
    model = build_translator(settings, 13, 13).double().eval()
    batch = Batch({"source": SOURCE}, ROUTE, torch.arange(2), 2)
    rows = torch.tensor([0, 0, 0, 1, 1, 1])
    alone, repeated = model.start(batch), model.start(batch).select(rows)
    for word in (BOS, 5, 7):
        one, alone = model.step(torch.full((2, 1), word), alone, need_weights=True)
        many, repeated = model.step(torch.full((6, 1), word), repeated, need_weights=True)
        assert_close((many.log_probs, many.weights), (one.log_probs[rows], one.weights[rows]))
