"""The contract of posterior features: knowledge of good translations beside the texts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import AnyFloat

StartWeight = Annotated[AnyFloat, Doc("Initial weight of the feature; it is learned.")]


class PosteriorFeature(ABC):
    """A number for each translation of a source. A row of POSTERIOR_FEATURES, built with its settings alone."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @abstractmethod
    def __call__(self, source: str, targets: Sequence[str]) -> list[float]:
        """Return a value for each target, the higher the better; between 0 and 1."""
