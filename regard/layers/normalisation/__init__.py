"""Normalisations of the states of a sequence. One file a row, each a layer, built with (dim,)."""

from typing import Annotated

from regard.config import Doc, PartOf
from regard.layers.normalisation.cumulative import CumulativeNorm
from regard.layers.normalisation.norm import Norm
from regard.layers.normalisation.positionwise import PositionNorm
from regard.layers.normalisation.sub_batch import SubBatchNorm
from regard.registry import Choice, Registry

NORMALISATIONS: Registry[Norm] = Registry(
    "norm",
    {"cumulative": CumulativeNorm, "layer": PositionNorm, "sub_batch": SubBatchNorm},
    within="model.encoder={{name: bytenet, norm: {part}}}",
)

Normalisation = Annotated[Choice, PartOf(NORMALISATIONS), Doc("Normalisation in each block.")]
