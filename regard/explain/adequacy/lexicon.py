"""Words whose known translations are all missing."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Count, Ratio
from regard.data.manifest import verify_file
from regard.errors import CheckpointError
from regard.explain.adequacy.adequacy import Adequacy
from regard.results import Place, Prediction
from regard.statistical.translations import Translations
from regard.text.words import cut_words

TRANSLATIONS_FILE = "translations.tsv.gz"  # in a run's folder
USUAL_FRACTION, MIN_SEEN = 0.9, 5  # share of occurrences, occurrences


class LexiconAdequacy(Adequacy):
    """A word is uncovered where the output has none of the translations counted twice or more in training.

    Only words are checked that were seen `min_count` times and had such a translation in a fraction `min_confidence`
    of them. A word copied to the translation, such as a name or a number, is covered.
    """

    def __init__(
        self,
        folder: Path,
        *,
        min_confidence: Annotated[
            Ratio, Doc("Minimum fraction of a word's occurrences that have a usual translation.")
        ] = USUAL_FRACTION,
        min_count: Annotated[Count, Doc("Minimum number of occurrences in training.")] = MIN_SEEN,
    ) -> None:
        self.translations, self.min_confidence, self.min_count = kept_translations(folder), min_confidence, min_count

    def uncovered(self, prediction: Prediction) -> list[Place]:
        written = {word for word, _ in folded_words(prediction.text)}
        return [
            place
            for word, place in folded_words(prediction.source)
            if is_left_out(
                self.translations, word, written, min_confidence=self.min_confidence, min_count=self.min_count
            )
        ]


def is_left_out(
    counts: Translations,
    word: str,
    written: set[str],
    *,
    min_confidence: float = USUAL_FRACTION,
    min_count: int = MIN_SEEN,
) -> bool:
    """Return whether a word has a usual translation, and a text has none of its translations nor the word itself."""
    return counts.is_usual(word, min_confidence=min_confidence, min_count=min_count) and not counts.is_covered(
        word, written
    )


def kept_translations(run: Path) -> Translations:
    """Return what `regard adequacy RUN` counted. Raises CheckpointError where it has not, or the file is damaged."""
    path, again = run / TRANSLATIONS_FILE, f"regard adequacy {quote(str(run))}"
    if not path.exists():
        raise CheckpointError(path, "is missing", f"learn it from the training texts: {again}")
    verify_file(path, f"make it again: {again}")
    return Translations.read(path)


def folded_words(text: str) -> Iterator[tuple[str, Place]]:
    """Yield the words and signs of a text in lower case, with their places."""
    end = -1  # of the space that stands before the text
    for piece in cut_words(text):
        start, end = end + len(piece) - len(piece.lstrip(" ")), end + len(piece)
        if word := piece.strip():
            yield word.lower(), [start, end]
