"""Decoders: what writes a target. One file a row, each built with (embedder, source_dim, sockets)."""

from typing import Annotated

from regard.config import PartOf
from regard.decoders.bytenet import ByteNetDecoder
from regard.decoders.convolutional import ConvolutionalDecoder
from regard.decoders.decoder import Decoder
from regard.decoders.recurrent import RecurrentDecoder
from regard.decoders.recurrent_bytenet import RecurrentByteNetDecoder
from regard.decoders.three_attention import ThreeAttentionDecoder
from regard.decoders.transformer import TransformerDecoder
from regard.registry import Choice, Registry

DECODERS: Registry[Decoder] = Registry(
    "model.decoder",
    {
        "bytenet": ByteNetDecoder,
        "convolutional": ConvolutionalDecoder,
        "recurrent": RecurrentDecoder,
        "recurrent_bytenet": RecurrentByteNetDecoder,
        "three_attention": ThreeAttentionDecoder,
        "transformer": TransformerDecoder,
    },
    inherits=("dropout",),
)

DecoderChoice = Annotated[Choice, PartOf(DECODERS)]
