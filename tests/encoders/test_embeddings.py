"""No encoder: states are the embeddings."""

from typing import cast

import torch
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders import ENCODERS
from regard.records import Sequences
from regard.registry import Choice


def test_states_are_the_vectors_and_padding_is_zero():
    vectors, mask = torch.randn(2, 3, 4), torch.tensor([[True, True, True], [True, False, False]])
    encoded = ENCODERS.build(Choice("embeddings"), 4, cast(Sockets, None))(Sequences(vectors, mask))
    assert_close(encoded.states[0], vectors[0])
    assert_close(encoded.states[1, 1:], torch.zeros(2, 4))
    assert_close(encoded.final, torch.stack([vectors[0].mean(dim=0), vectors[1, 0]]))


def test_a_stranger_finds_it():
    for name in ("none", "identity", "bag of words", "fastText"):
        found = ENCODERS.find(name)
        assert found is not None and found.name == "embeddings"
