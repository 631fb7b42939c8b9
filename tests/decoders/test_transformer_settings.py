"""What cannot stand in a decoder is refused with one line."""

import pytest
from networks import build_translator

from regard.errors import ConfigError
from regard.registry import Choice

SMALL = {"num_layers": 1, "feedforward_dim": 8}


def test_units_that_read_both_ways_cannot_write():
    both = Choice("transformer", {**SMALL, "feedforward": Choice("bidirectional_sru")})
    with pytest.raises(
        ConfigError, match=r"model.decoder.feedforward: 'bidirectional_sru' must know all of a sequence"
    ):
        build_translator(dict(dim=8, decoder=both), 9, 9)
    build_translator(dict(dim=8, encoder=both, decoder=Choice("transformer", SMALL)), 9, 9)
