"""Decoders: what writes a target. One file a row, each built with (embedder, source_dim, sockets)."""

from regard.decoders.bytenet import bytenet
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.decoders.decoder import Decoder
from regard.decoders.recurrent import RecurrentDecoder
from regard.decoders.recurrent_bytenet import recurrent_bytenet
from regard.decoders.three_attention import ThreeAttentionDecoder
from regard.decoders.transformer import TransformerDecoder
from regard.registry import Registry

DECODERS: Registry[Decoder] = Registry(
    "model.decoder",
    {
        "bytenet": bytenet,
        "convolutional": ConvolutionalDecoder,
        "recurrent": RecurrentDecoder,
        "recurrent_bytenet": recurrent_bytenet,
        "three_attention": ThreeAttentionDecoder,
        "transformer": TransformerDecoder,
    },
)

__all__ = ["DECODERS", "Decoder"]
