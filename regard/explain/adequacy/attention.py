"""Source words that no word of the translation attends to."""

from pathlib import Path
from typing import Annotated, ClassVar

from regard.config import Doc
from regard.config.bounds import Ratio
from regard.explain.adequacy.adequacy import Adequacy
from regard.explain.alignment import aligned_words
from regard.explain.diagnosis import word_places
from regard.results import Place, Prediction


class AttentionAdequacy(Adequacy):
    """A word is uncovered where the weights of all target words on it sum to less than `threshold`.

    The coverage of https://arxiv.org/abs/1609.08144, equation 14. Its accuracy depends on the model: some attend to
    words that they do not translate.
    """

    needs_explanation: ClassVar[bool] = True

    def __init__(
        self, folder: Path, *, threshold: Annotated[Ratio, Doc("Minimum attention of a covered word, summed.")] = 0.2
    ) -> None:
        self.threshold = threshold

    def uncovered(self, prediction: Prediction) -> list[Place]:
        """Sum the attention to each word; without attention weights no word is uncovered."""
        found = prediction.explanation
        if found is None or not found.link.weights:
            return []
        aligned = aligned_words(found)
        words = aligned.source_words
        return [
            place
            for number, (word, place) in enumerate(zip(words, word_places(words, prediction.source), strict=True))
            if place is not None
            and sum(row[number] for row in aligned.weights) < self.threshold
            and any(map(str.isalpha, word.text))
        ]
