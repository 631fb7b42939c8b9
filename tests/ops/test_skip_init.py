"""Building without random initial values: nothing is drawn, and a checkpoint brings all that would have been."""

import pytest
import torch
from networks import build_translator
from torch import nn
from torch.testing import assert_close

from regard.attention import SCORES
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.layers.recurrent import RECURRENT
from regard.ops.modules import skip_init
from regard.registry import Choice

PARTS = [
    *({"encoder": Choice(name)} for name in ENCODERS),
    *({"decoder": Choice(name)} for name in DECODERS),
    *({"encoder": Choice("recurrent", {"cell": name})} for name in RECURRENT),
    *({"position": Choice(name)} for name in POSITIONS),
    *({"embedder": Choice(name), "position": None, "tied": "none"} for name in EMBEDDERS),
    *({"decoder": Choice("recurrent", {"hidden_dim": 16}), "attention": {"score": name}} for name in SCORES),
]


@pytest.mark.parametrize("settings", PARTS, ids=str)
def test_a_loaded_model_is_the_same_without_draws(settings):
    drawn = build_translator({"dim": 16, **settings}, 30, 30)
    with skip_init():
        other = build_translator({"dim": 16, **settings}, 30, 30)
    other.load_state_dict(drawn.state_dict())
    for name, wanted in [*drawn.named_parameters(), *drawn.named_buffers()]:
        assert_close({**dict(other.named_parameters()), **dict(other.named_buffers())}[name], wanted, rtol=0, atol=0)


def test_no_number_is_drawn_within():
    before = torch.get_rng_state()
    with skip_init():
        nn.Sequential(nn.Linear(8, 8), nn.Embedding(8, 8), nn.GRU(8, 8), nn.Conv1d(8, 8, 3))
    assert_close(torch.get_rng_state(), before)
    assert not torch.equal(nn.init.normal_(torch.zeros(9)), torch.zeros(9))
