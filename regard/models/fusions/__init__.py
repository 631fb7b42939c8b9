"""Fusions of the question into a passage. One file a row, each built with (word_dim, vector_dim, sockets)."""

from regard.models.fusions.aligned import AlignedFusion
from regard.models.fusions.concatenated import ConcatenatedFusion
from regard.models.fusions.fusion import Fusion
from regard.models.fusions.separate import SeparateFusion
from regard.registry import Registry

FUSIONS: Registry[Fusion] = Registry(
    "model.fusion",
    {
        "aligned": AlignedFusion,
        "concatenated": ConcatenatedFusion,
        "separate": SeparateFusion,
    },
    within="model={{name: reader, fusion: {part}}}",
)
