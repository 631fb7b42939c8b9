"""The likeliest next word, again and again."""

from collections.abc import Sequence
from typing import Any

from regard.config.common_settings import AtLimit, MaxExtra, MaxRatio, MinLength
from regard.decoding.beam import BeamSearch
from regard.decoding.features.feature import Feature
from regard.decoding.search import Hypothesis, Search
from regard.decoding.trace import SearchTrace
from regard.records import Batch, Writer


class GreedySearch(Search):
    """The likeliest word at each step, up to the first end. The score is the sum of the log-probabilities.

    It is a beam of size 1 without a length penalty that stops when it is full.
    """

    def __init__(
        self,
        *,
        max_ratio: MaxRatio = 2.0,
        max_extra: MaxExtra = 10,
        min_length: MinLength = 0,
        at_limit: AtLimit = "end",
    ) -> None:
        super().__init__(max_ratio, max_extra, min_length, at_limit=at_limit)

    def run(self, writer: Writer, batch: Batch, *, features: Sequence[Feature] = ()) -> list[list[Hypothesis]]:
        return self._one().run(writer, batch, features=features)

    def traced(self, trace: SearchTrace) -> BeamSearch:
        return self._one().traced(trace)

    def as_beam(self) -> BeamSearch:
        return self._like(BeamSearch(**self._limits()))

    def _one(self) -> BeamSearch:
        """The beam of size 1."""
        return self._like(BeamSearch(size=1, length_penalty=0, stop="full", **self._limits()))

    def _limits(self) -> dict[str, Any]:
        names = ("max_ratio", "max_extra", "min_length", "at_limit")
        return {name: getattr(self, name) for name in names}

    def _like(self, beam: BeamSearch) -> BeamSearch:
        """A beam search for the same call."""
        beam.first = self.first
        return beam.until(self.unwanted)
