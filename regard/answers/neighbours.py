"""Words or documents that are near to a text."""

from dataclasses import dataclass, field
from typing import Any

from regard.answers.answer import Answer
from regard.results import Prediction


@dataclass(frozen=True, repr=False)
class NearestPrediction(Prediction):
    """The neighbours of a text: `text` has the names, tabs between them, the nearest first."""

    nearest: list[tuple[str, float]] = field(default_factory=list, kw_only=True)  # names with their cosines
    vector: list[float] = field(default_factory=list, kw_only=True)  # of the text

    def details(self) -> dict[str, Any]:
        near = [{"name": name, "cosine": cosine} for name, cosine in self.nearest]
        return {**super().details(), "nearest": near, "vector": list(self.vector)}


class NeighboursAnswer(Answer[NearestPrediction]):
    """The nearest words or documents, which have no reference. Words alone are a text."""

    name = form = "neighbours"
    records = (NearestPrediction,)
