"""The language of texts, as py3langid finds it."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

_LONGEST = 2_000  # texts among which those that are counted are chosen
_COUNTED = 200


def count_languages(texts: Sequence[str]) -> Counter[str]:
    """Count the languages that py3langid finds in up to 200 of the longest texts."""
    longest = sorted(texts, key=len)[-_LONGEST:]
    return Counter(identifier().classify(text.lower())[0] for text in longest[:: max(1, len(longest) // _COUNTED)])


@cache
def identifier() -> LanguageIdentifier:
    """Return py3langid's model; its confidences are probabilities."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
