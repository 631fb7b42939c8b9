"""The model and the data of the benchmarks: the tiny Transformer of Multi30k, 4+4 layers of 128, 10,000 pieces."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from regard.data import Batches, Corpus, ParallelReader
from regard.models import AttentionSettings, ModelSettings, Translator, build_translator
from regard.registry import Choice
from regard.text import train_tokenizer


class Size(NamedTuple):
    """Of one Transformer."""

    dim: int
    layers: int
    feedforward: int
    heads: int


SMALL, VOCAB = Size(128, 4, 256, 4), 10000


def regard_model(dropout: float = 0.3) -> Translator:
    """Ours, pre-norm, all tables tied."""
    layers = {"num_layers": SMALL.layers, "feedforward_dim": SMALL.feedforward}
    attention = AttentionSettings(num_heads=SMALL.heads)
    settings = ModelSettings(
        dim=SMALL.dim,
        encoder=Choice("transformer", layers),
        decoder=Choice("transformer", layers),
        attention=attention,
        self_attention=attention,
        dropout=dropout,
    )
    return build_translator(settings, VOCAB, VOCAB)
