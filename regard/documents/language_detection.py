"""Detects the language of a text with a model from an installed package; nothing is downloaded."""

import re
from collections.abc import Iterable

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from regard.documents.placeholders import placeholders

_CHARACTERS = 2_000  # of a text that are read
_FAVOUR, _RARE = 3.0, 0.1  # prior weight of an expected and of an uncommon language; others have 1
_COMMON = frozenset(
    """ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ka km ko lt lv ms mr nb ne nl no pa pl pt ro ru sk
    sl sr sv sw ta te th tl tr uk ur vi zh""".split()  # noqa: SIM905  one a line would be a page
)
_SPACES = re.compile(r"\s+")
_BEST, _LEAST = 3, 0.05  # most guesses returned, and per cent that each needs


class Detector:
    """Favours the given languages; another one wins only if it is clearly likelier. Thread-safe."""

    def __init__(self, languages: Iterable[str]) -> None:
        """Load the model, in about a second. `languages`: ISO 639-1 codes; codes unknown to the model are ignored."""
        self.languages = frozenset(languages)
        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Return at most three (code, confidence 0 to 100), best first; none for a text without letters."""
        return [guess for guess in self.ranked(text)[:_BEST] if guess[1] > _LEAST]

    def ranked(self, text: str) -> list[tuple[str, float]]:
        """Return all languages with their confidence, best first; none for a text without letters."""
        words = _words(text)
        if not words:
            return []
        weights = {**dict.fromkeys(_COMMON, 1.0), **dict.fromkeys(self.languages, _FAVOUR)}
        ranked = [(code, share * weights.get(code, _RARE)) for code, share in self._identifier.rank(words)]
        total = sum(value for _, value in ranked)
        best = sorted(ranked, key=lambda each: -each[1])
        return [(str(code), round(100 * float(value) / total, 1)) for code, value in best]


def _words(text: str) -> str:
    """Return the start of a text without placeholders; empty if it has no letters."""
    text = text[:_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    cursor, free = 0, []
    for each in placeholders(text):
        free.append(text[cursor : each.start])
        cursor = each.end
    found = _SPACES.sub(" ", " ".join([*free, text[cursor:]])).strip()
    return found if any(character.isalpha() for character in found) else ""
