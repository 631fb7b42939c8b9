"""Comparisons: two texts → one vector. One file a row, each built with (dim,)."""

from regard.models.comparisons.bcnn import BcnnComparison
from regard.models.comparisons.comparison import Comparison
from regard.models.comparisons.decomposable import DecomposableComparison
from regard.models.comparisons.siamese import SiameseComparison
from regard.registry import Registry

COMPARISONS: Registry[Comparison] = Registry(
    "model.comparison",
    {
        "bcnn": BcnnComparison,
        "decomposable": DecomposableComparison,
        "siamese": SiameseComparison,
    },
    inherits=("dropout",),
    within="model={{name: pair_classifier, comparison: {part}}}",
)
