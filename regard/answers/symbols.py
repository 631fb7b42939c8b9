"""A symbol for each symbol: the plain text of a cipher text."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.answers.answer import ReadAnswer
from regard.results import Prediction


@dataclass(frozen=True, repr=False)
class SymbolsPrediction(Prediction):
    """A symbol for each symbol that was read: `text` holds them, words with spaces between."""

    symbols: list[str] = field(default_factory=list, kw_only=True)
    probabilities: list[float] = field(default_factory=list, kw_only=True)  # of each symbol by itself

    def item_probabilities(self) -> list[float]:
        return self.probabilities

    def details(self) -> dict[str, Any]:
        """The symbols, each with its probability."""
        return {**super().details(), "symbols": list(self.symbols), "probabilities": list(self.probabilities)}


class SymbolsAnswer(ReadAnswer[SymbolsPrediction]):
    """A symbol for each symbol, each with its probability."""

    name = form = "symbols"
    records = (SymbolsPrediction,)

    def recalibrated(
        self, prediction: SymbolsPrediction, probabilities: Sequence[Sequence[float]]
    ) -> SymbolsPrediction:
        found = [one[0] for one in probabilities]
        return replace(prediction, probabilities=found, confidences=found)
