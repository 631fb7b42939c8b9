"""A recurrent decoder on its own, and a source it may read."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.attention import Attention, Sockets
from regard.decoders.recurrent import RecurrentDecoder
from regard.layers.embedders.words import WordEmbedder
from regard.models import AttentionSettings, build_attention
from regard.records import Encoded
from regard.registry import Choice

VOCAB, DIM, HIDDEN, SOURCE_DIM = 9, 5, 4, 6


@pytest.fixture
def ids() -> Tensor:
    """Three rows to be written."""
    return torch.tensor([[1, 4, 5, 6], [1, 7, 7, 2], [1, 8, 4, 3]])


@pytest.fixture
def make() -> Callable[..., RecurrentDecoder]:
    """Attention settings, or None, and those of a decoder → it without dropout, in float64."""
    return _decoder


@pytest.fixture
def encoded() -> Callable[..., Encoded]:
    """How many layers, and how many states each has, → a source of three sentences of 5, 2 and 3 words."""
    return _encoded


def _decoder(attention: AttentionSettings | None = None, **settings: object) -> RecurrentDecoder:
    def cross(query_dim: int, key_dim: int) -> Attention:
        if attention is None:
            raise AssertionError("a decoder that reads the final state alone builds no attention")
        return build_attention(attention, query_dim, key_dim)

    def never(dim: int) -> Attention:
        raise AssertionError("a recurrent decoder does not look at what is still to be written")

    def causal(dim: int) -> Attention:
        assert settings.get("intra_attention"), "only then a recurrent decoder looks at itself"
        return build_attention(AttentionSettings(score=Choice("bilinear")), dim, dim, causal=True)

    embedder = WordEmbedder(VOCAB, DIM, scale=False, dropout=0.0)
    settings = {"hidden_dim": HIDDEN, "dropout": 0.0, **settings}
    made = RecurrentDecoder(embedder, SOURCE_DIM, Sockets(cross, never, causal), **settings).double()
    for parameter in made.parameters():  # nothing stays zero or orthogonal, so nothing cancels out
        torch.nn.init.normal_(parameter, std=0.4)
    return made


def _encoded(layers: int = 0, states_each: int = 1) -> Encoded:
    def random(*shape: int) -> Tensor:
        return torch.randn(3, *shape, dtype=torch.float64)

    mask = torch.arange(5) < torch.tensor([[5], [2], [3]])
    past = tuple(tuple(random(HIDDEN) for _ in range(states_each)) for _ in range(layers))
    return Encoded(random(5, SOURCE_DIM), mask, random(SOURCE_DIM), past=past or None)
