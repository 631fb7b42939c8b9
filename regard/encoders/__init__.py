"""Encoders: what reads a source. One file a row, each built with (input_dim, sockets)."""

from regard.encoders.encoder import Encoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.encoders.transformer import TransformerEncoder
from regard.registry import Registry

ENCODERS: Registry[Encoder] = Registry(
    "model.encoder", {"recurrent": RecurrentEncoder, "transformer": TransformerEncoder}
)

__all__ = ["ENCODERS", "Encoder"]
