"""Inflected forms of a word, guessed from their letters: there is no morphology of any language here."""

import unicodedata

_LEAST, _ENDING = 3, 3  # letters of the common beginning at least, and of an ending at most
_LEAST_REPLACED = 5  # letters of the common beginning of forms that replace the last letter of each other
_IN_PHRASE = 4  # the same of a word of a phrase, whose other words must agree, too: "roter Hut" and "roten Hut"
_DERIVING = ("al", "el")  # endings of other words: "Hand" and "Handel"


def same_stem(word: str, other: str) -> bool:
    """Return whether two words or phrases are equal but for endings of up to three letters, case and accents.

    One form begins the other ("Haus" and "Häusern"), or replaces its last letter after five equal ones, four in a
    phrase; a "y" becomes "ie" in any word ("city" and "cities"). Words with other digits are other words.
    """
    words, others = without_accents(word).split(), without_accents(other).split()
    least = _IN_PHRASE if len(words) > 1 else _LEAST_REPLACED
    return len(words) == len(others) and all(_same(*pair, least) for pair in zip(words, others, strict=True))


def _same(word: str, other: str, least: int) -> bool:
    if word == other:
        return True
    common = next((place for place, pair in enumerate(zip(word, other, strict=False)) if len({*pair}) > 1), None)
    common = min(len(word), len(other)) if common is None else common
    shorter, longer = sorted((word[common:], other[common:]), key=len)
    if common < _LEAST or len(longer) > _ENDING or any(one.isdigit() for one in shorter + longer):
        return False
    if not shorter:
        return longer not in _DERIVING
    return len(shorter) == 1 and (common >= least or (shorter == "y" and longer.startswith("ie")))


def without_accents(text: str) -> str:
    """Return a text in lower case without accents.

    >>> without_accents("Élève TÜR")
    'eleve tur'
    """
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
