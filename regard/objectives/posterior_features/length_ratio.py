"""Translations that are about as long as they should be."""

from collections.abc import Sequence
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Positive
from regard.evaluation.tokenization import words
from regard.objectives.posterior_features.feature import PosteriorFeature, StartWeight


class LengthRatioFeature(PosteriorFeature):
    """min(r, 1 / r), r = |y| / (ratio · |x|), in words: 1 where a translation is as long as expected."""

    aliases = "length"

    def __init__(
        self,
        *,
        ratio: Annotated[Positive, Doc("Mean number of target words per source word.")] = 1.0,
        weight: StartWeight = 10.0,
    ) -> None:
        super().__init__(weight)
        self.ratio = ratio

    def __call__(self, source: str, targets: Sequence[str]) -> list[float]:
        expected = self.ratio * max(1, len(words(source)))
        found = [len(words(target)) / expected for target in targets]
        return [min(one, 1 / one) if one else 0.0 for one in found]
