"""Every row of a table that drops anything drops it where it says, and nowhere in use.

A dropout is found by what it does: zeroing all it is given changes what comes out. So one that is called and not heard
is caught, and one that is not called is missing from the count.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Sockets
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.layers.embedders import EMBEDDERS
from regard.layers.embedders.words import WordEmbedder
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.pooling import POOLINGS
from regard.models import AttentionSettings, build_attention
from regard.ops.dropout import Dropout
from regard.ops.plain import plain
from regard.records import Encoded, Sequences
from regard.registry import Choice, Registry

BATCH, LENGTH, DIM, VOCAB, P = 2, 5, 8, 11, 0.375
LAYERS = {"num_layers": 2}
SIZES = {**LAYERS, "hidden_dim": 8, "feedforward_dim": 12, "num_filters": 3}
OWN = AttentionSettings(num_heads=2)
CROSS = AttentionSettings(score=Choice("additive"))
SOCKETS = Sockets(
    lambda query_dim, key_dim: build_attention(CROSS, query_dim, key_dim),
    lambda dim: build_attention(OWN, dim, dim),
    lambda dim: build_attention(OWN, dim, dim, causal=True),
)
PLACES = {  # how many dropouts a pass over a sequence meets, of two layers where there are layers
    "encoder": {
        "bytenet": 1,  # the states
        "complex_layers": 1 + 1,  # between the layers, the states
        "convolutional": 2 + 1,  # what each block reads, the states
        "grid_convolutional": 2,  # what each layer reads
        "language_model_features": 2 + 1,  # between the layers of either way, the states
        "parallel": 5 + 1 + 1,  # those of its parts: four blocks, a recurrent layer, an attention
        "recurrent": 1 + 1,  # between the layers, the states
        "self_attention": 2,  # what each layer has seen
        "self_matching": 2,
        "sequential": 5 + 1,
        "transformer": 2 * (1 + 1 + 1),  # what attention has seen, the hidden units, what they have made
    },
    "decoder": {  # without that of the embedder
        "bytenet": 1,
        "convolutional": 2 + 1,
        "recurrent": 1 + 1,
        "recurrent_bytenet": 1 + 1,
        "three_attention": 2 * (1 + 1),
        "transformer": 2 * (1 + 1 + 1 + 1),
    },
    "embedder": {  # the vectors
        "character_ngrams": 1,
        "complex_order": 1,
        "pretrained": 1,
        "segments": 1,
        "word_ngrams": 1,
        "words": 1,
    },
    "feedforward": {"bidirectional_sru": 1, "gelu": 1, "position_wise": 1, "sru": 1, "swish": 1},  # the hidden units
    "pooling": {"convolutional": 1, "convolutional_query": 1},  # the vector
}
TABLES: dict[str, Registry[Any]] = {
    "encoder": ENCODERS,
    "decoder": DECODERS,
    "embedder": EMBEDDERS,
    "feedforward": FEEDFORWARDS,
    "pooling": POOLINGS,
}
LAST = [  # where nothing else is dropped before what comes out
    *(("embedder", name) for name in EMBEDDERS),
    ("encoder", "bytenet"),
    ("decoder", "bytenet"),
    ("pooling", "convolutional"),
]
ROWS = [(kind, name) for kind, table in TABLES.items() for name in table if "dropout" in table.settings(name)]


def built(kind: str, name: str) -> tuple[nn.Module, Callable[[], Tensor]]:
    """A part that drops a share P, and a pass through it."""
    table = TABLES[kind]
    sizes = {key: size for key, size in SIZES.items() if key in table.settings(name)}
    choice, mask = Choice(name, {**sizes, "dropout": P}), torch.ones(BATCH, LENGTH, dtype=torch.bool)
    vectors, ids = torch.randn(BATCH, LENGTH, DIM), torch.randint(4, VOCAB, (BATCH, LENGTH))
    seen = Encoded(vectors, mask, torch.randn(BATCH, DIM))
    if kind == "encoder":
        encoder = table.build(choice, DIM, SOCKETS)
        return encoder, lambda: encoder(Sequences(vectors, mask)).states
    if kind == "decoder":
        decoder = table.build(choice, WordEmbedder(VOCAB, DIM, dropout=0.0), DIM, SOCKETS)
        return decoder, lambda: decoder(ids[:, :1], decoder.start(seen))[0].states
    if kind == "embedder":
        embedder = table.build(choice, VOCAB, DIM, None)
        return embedder, lambda: embedder(ids)[0]
    if kind == "feedforward":
        feedforward = table.build(choice, DIM, 12)
        return feedforward, lambda: feedforward(vectors, mask)[0]
    pooling = table.build(choice, DIM)
    return pooling, lambda: pooling(vectors, mask)


@pytest.fixture(params=ROWS, ids="-".join)
def row(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Tensor, list[float]]]:
    """heard(run, place): what comes out where the dropout at `place` zeroes all and others nothing; their shares."""

    def run(some: Callable[[], Tensor], place: int | None = None) -> tuple[Tensor, list[float]]:
        met: list[float] = []

        def forward(self: Dropout, inputs: Tensor) -> Tensor:
            met.append(self.probability if self.training else 0.0)
            return inputs * (len(met) - 1 != place)

        monkeypatch.setattr(Dropout, "forward", forward)
        return some(), [share for share in met if share]  # an embedder's own share is 0

    return run


def test_each_place_is_dropped_by_the_share_that_was_set_and_none_in_use(row, heard):
    kind, name = row
    part, run = built(*row)
    with plain():  # what is fused with others is proved equal to this
        assert heard(run)[1] == [P] * PLACES[kind][name]
    part.eval()
    assert heard(run)[1] == []


@torch.no_grad()
def test_what_is_dropped_is_missed(row, heard):
    kind, name = row
    _, run = built(*row)
    whole, _ = heard(run)
    first = int(kind == "decoder")  # the embedder's
    for place in range(first, first + PLACES[kind][name]):
        less, _ = heard(run, place)
        assert not torch.allclose(less, whole), f"dropout {place} changes nothing"


@torch.no_grad()
@pytest.mark.parametrize(("kind", "name"), LAST)
def test_the_share_that_was_set_is_zero_and_the_rest_is_scaled_to_the_same_mean(kind, name):
    part, run = built(kind, name)
    dropped = torch.stack([run() for _ in range(300)])
    part.eval()
    wanted = run()
    moved = wanted.abs() > 0.01
    share = (dropped[:, moved] == 0).double().mean()
    assert abs(float(share) - P) < 0.02
    assert_close(dropped[:, moved].sum(dim=0) / (dropped[:, moved] != 0).sum(dim=0), wanted[moved] / (1 - P))
