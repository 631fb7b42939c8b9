"""Embedders: ids in, vectors out. One file a row, each built with (vocab_size, dim, position)."""

from regard.layers.embedders.character_ngrams import CharacterNgramEmbedder
from regard.layers.embedders.complex_order import ComplexOrderEmbedder
from regard.layers.embedders.embedder import Embedder
from regard.layers.embedders.external_vectors import PretrainedEmbedder
from regard.layers.embedders.segments import SegmentEmbedder
from regard.layers.embedders.word_ngrams import WordNgramEmbedder
from regard.layers.embedders.words import WordEmbedder
from regard.registry import Registry

EMBEDDERS: Registry[Embedder] = Registry(
    "model.embedder",
    {
        "character_ngrams": CharacterNgramEmbedder,
        "complex_order": ComplexOrderEmbedder,
        "pretrained": PretrainedEmbedder,
        "segments": SegmentEmbedder,
        "word_ngrams": WordNgramEmbedder,
        "words": WordEmbedder,
    },
    inherits=("dropout",),
)

__all__ = ["EMBEDDERS", "Embedder"]
