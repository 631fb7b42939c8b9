"""Languages of texts and files whose language a request leaves open."""

from typing import NamedTuple

from regard.documents.files import FileDocument
from regard.serve.languages import ENGLISH, inward, outward, served_code
from regard.serve.service import Service

SAMPLE = 10_000  # characters of a file for language detection
SURE = 70.0  # per cent of confidence to detect a language without a translator
_UNLIKELY = 2.0  # per cent of all served languages together; below it, the text is in another
_OUTSIDE = 1 / 3  # weight of the target language: its speaker rarely writes in it


class Detected(NamedTuple):
    """The detected language of a text."""

    language: str
    confidence: float  # 0 to 100


def detect(service: Service, text: str) -> list[Detected]:
    """Return the likely languages of a text, best first; without any English with 0, as LibreTranslate does."""
    guesses = [Detected(inward(code), confidence) for code, confidence in service.detector.detect(text)]
    return guesses or [Detected(ENGLISH, 0.0)]


def choose_language(service: Service, target: str, text: str) -> Detected:
    """Return the likeliest of the served languages; another one only if the text clearly is in none of them."""
    known = [code for code in service.catalogue.languages if service.catalogue.model(code, target) is not None]
    guesses = [Detected(inward(code), confidence) for code, confidence in service.detector.ranked(text)]
    if not guesses:
        return Detected(ENGLISH if ENGLISH in known or not known else known[0], 0.0)
    served = [guess for guess in guesses if guess.language in known or guess.language == target]
    first = guesses[0]
    clear = first.confidence >= SURE or sum(guess.confidence for guess in served) < _UNLIKELY
    if not known or not served or (first not in served and clear):
        return first
    return max(served, key=lambda guess: guess.confidence * (_OUTSIDE if guess.language == target else 1.0))


def language_of_file(service: Service, file: FileDocument, target: str) -> str:
    """Return the language that a file says it is from, else the detected one. Raises FileError for several."""
    if not file.source:
        return choose_language(service, target, "\n".join(file.texts)[:SAMPLE]).language
    source = served_code(file.source, service.catalogue.languages)
    file.check_languages((source, outward(target)))
    return source
