"""Inflected forms of a word, guessed from their letters: there is no morphology of any language here."""

import unicodedata

_LEAST, _DROPPED, _ADDED = 3, 1, 3  # letters of the common beginning, and of the ending of each form


def same_stem(word: str, other: str) -> bool:
    """Return whether two words or phrases are equal but for endings of up to three letters, case and accents.

    Of the shorter ending at most one letter: "Haus" and "Häusern", not "Kater" and "Katze".
    """
    words, others = _folded(word).split(), _folded(other).split()
    return len(words) == len(others) and all(map(_same, words, others))


def _same(word: str, other: str) -> bool:
    if word == other:
        return True
    common = next((place for place, pair in enumerate(zip(word, other, strict=False)) if len({*pair}) > 1), None)
    common = min(len(word), len(other)) if common is None else common
    shorter, longer = sorted(len(one) - common for one in (word, other))
    return common >= _LEAST and shorter <= _DROPPED and longer <= _ADDED


def _folded(text: str) -> str:
    spelt = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in spelt if not unicodedata.combining(one))
