"""Source augmentations: context in a source text, in training as at prediction. One file a row."""

from collections.abc import Sequence

from regard.augmentations.augmentation import SourceAugmentation
from regard.augmentations.fuzzy_matches import FuzzyMatches
from regard.augmentations.terms import AnnotatedTerms
from regard.registry import Choice, Registry

AUGMENTATIONS: Registry[SourceAugmentation] = Registry(
    "data.source_augmentations", {"fuzzy_matches": FuzzyMatches, "terms": AnnotatedTerms}
)


def augmentations_of(choices: Sequence[Choice]) -> dict[str, SourceAugmentation]:
    """Return the chosen augmentations by name."""
    return {one.name: AUGMENTATIONS.build(one) for one in choices}
