"""Decoders: what writes a target. One file a row, each built with (embedder, source_dim, sockets)."""

from regard.decoders.decoder import Decoder
from regard.decoders.recurrent import RecurrentDecoder
from regard.decoders.transformer import TransformerDecoder
from regard.registry import Registry

DECODERS: Registry[Decoder] = Registry(
    "model.decoder", {"recurrent": RecurrentDecoder, "transformer": TransformerDecoder}
)

__all__ = ["DECODERS", "Decoder"]
