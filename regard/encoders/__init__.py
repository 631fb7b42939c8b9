"""Encoders: what reads a source. One file a row, each built with (input_dim, sockets).

`parallel` and `sequential` are made of encoders of any row, so the table itself is declared below them, in `table.py`.
"""

from regard.encoders.bytenet import ByteNetEncoder
from regard.encoders.complex_layers import ComplexEncoder
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.encoders.embeddings import EmbeddingsEncoder
from regard.encoders.grid_convolutional import GridConvolutionalEncoder
from regard.encoders.language_model_features import LanguageModelFeaturesEncoder
from regard.encoders.parallel import ParallelEncoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.encoders.self_attention import SelfAttentionEncoder
from regard.encoders.self_matching import SelfMatchingEncoder
from regard.encoders.sequential import SequentialEncoder
from regard.encoders.table import ENCODERS, EncoderChoice
from regard.encoders.transformer import TransformerEncoder
from regard.encoders.unfolded import UnfoldedEncoder

ENCODERS.fill(
    {
        "bytenet": ByteNetEncoder,
        "complex_layers": ComplexEncoder,
        "convolutional": ConvolutionalEncoder,
        "embeddings": EmbeddingsEncoder,
        "grid_convolutional": GridConvolutionalEncoder,
        "language_model_features": LanguageModelFeaturesEncoder,
        "parallel": ParallelEncoder,
        "recurrent": RecurrentEncoder,
        "self_attention": SelfAttentionEncoder,
        "self_matching": SelfMatchingEncoder,
        "sequential": SequentialEncoder,
        "transformer": TransformerEncoder,
        "unfolded": UnfoldedEncoder,
    }
)

__all__ = ["ENCODERS", "EncoderChoice"]
