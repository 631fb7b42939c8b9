"""Signs of errors in answers that are certain: lost numbers, negations and names, loops, unknown characters."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal

from rapidfuzz import fuzz

from regard.documents.numeral_faults import has_number_word
from regard.evaluation.rates import loops_inside
from regard.runtime.loops import loop_of
from regard.scripts import HAN, UNSPACED
from regard.text.stems import without_accents

NEGATIONS = {  # without_accents; opposites of single sentences are in texts.yaml
    "en": r"\b(?:not|no|none|never|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|lacks?|absent|missing"
    r"|fails?|refuses?|avoid|un(?!der|til|i|cle)\w+"
    r"|(?:do|does|did|is|are|was|were|wo|ca|has|have|had|would|could|should)nt)\b|n['’]t\b",
    "de": r"\b(?:nicht\w*|kein\w*|nie|niemals|niemand\w*|weder|ohne|kaum|nirgend\w*|un(?![st]|d\b)\w+|fehl\w*"
    r"|abwesend)\b",
    "fr": r"\b(?:ne|pas|jamais|rien|personne|aucune?s?|sans|non|ni|manqu\w+|absente?|evite\w*)\b|\bn['’]",
    "es": r"\b(?:no|nunca|jamas|nada|nadie|ning\w+|sin|ni|tampoco|falta\w*|ausente|carece\w*|evit\w+)\b",
    "zh": "[不没沒无無未莫勿否缺]|非(?!常)|(?<![特分区])[别別](?![人墅])",
}
_KEPT_APART = re.compile(r"[^\w]+")
_WORDS = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])\w)+")
_GARBLED = re.compile(r"⁇|\ufffd|<unk>|\[UNK\]")
_NUMERAL = re.compile(r"\d+(?:[.,'’ \u00a0\u2009\u202f]\d+)*")
_HAN_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万亿]{2,}|[百千万亿]")
_SPACE = re.compile("['’ \u00a0\u2009\u202f]")
_SURE_NAME = 75.0  # similarity in per cent of a name and its best place in an answer


def bare_words(text: str) -> list[str]:
    """Return the words of a text, without_accents; a character of a script without spaces is one."""
    return _WORDS.findall(without_accents(text))


def same_words(first: str, second: str) -> bool:
    """Return whether two texts have the same letters and digits."""
    return _KEPT_APART.sub("", without_accents(first)) == _KEPT_APART.sub("", without_accents(second))


def mentions(pattern: str, text: str) -> bool:
    """Return whether a pattern of without_accents words is in a text."""
    return re.search(pattern, without_accents(text)) is not None


def is_negated(text: str, language: str, opposites: str) -> bool:
    """Return whether a text has a word that may negate it, or one of a pattern of opposites."""
    return mentions(f"{NEGATIONS[language]}|{opposites}", text)


def garbled(answer: str) -> str:
    """Return the fault of an answer that is empty, has unknown characters or a loop; "" where it has none."""
    if not any(map(str.isalnum, answer)):
        return "empty answer"
    if found := _GARBLED.search(answer):
        return f"unknown characters: '{found[0]}'"
    return "repetition loop" if looped(answer) else ""


def looped(text: str) -> bool:
    """Return whether a stretch of up to eight words follows itself three times or more, or of letters within a word."""
    ids, found = dict[str, int](), bare_words(text)
    looping = loop_of([ids.setdefault(word, len(ids)) for word in found]) is not None
    return looping or any(map(loops_inside, found))


def lost_key(key: str, plain: str, changed: str) -> str:
    """Return the fault of a changed text whose answer lacks the noun that the answer to the plain text has."""
    if mentions(key, plain) and not mentions(key, changed):
        return f"lost a word of the answer to the plain text, '{plain}'"
    return ""


def values_of(text: str) -> list[set[Decimal]]:
    """Return the values that each numeral of a text may stand for: 1.234 is 1234, or 1.234."""
    return [{*_values(found[0])} for found in _NUMERAL.finditer(unicodedata.normalize("NFKC", text))]


def _values(numeral: str) -> Iterator[Decimal]:
    bare = _SPACE.sub("", numeral)
    groups = re.split("[.,]", bare)
    if all(len(group) == 3 for group in groups[1:]):
        yield Decimal("".join(groups))
    if len(groups) > 1:
        yield Decimal("".join(groups[:-1]) + "." + groups[-1])
    if bare != numeral or len(groups) > 2:
        yield from (Decimal(part) for part in re.findall(r"\d+", numeral))


def has_value(text: str, value: Decimal) -> bool:
    """Return whether a number may stand in a text, in digits or, whatever its value, in words."""
    return any(value in some for some in values_of(text)) or may_be_worded(text)


def may_be_worded(text: str) -> bool:
    """Return whether a number above twelve may stand in words in a text."""
    plain = re.sub(f"[{HAN}]", "", text)
    return _HAN_NUMBER.search(text) is not None or has_number_word(plain)


def has_name(text: str, name: str) -> bool:
    """Return whether a name stands in a text, as it is or much like it: with an ending, in another spelling."""
    return all(
        fuzz.partial_ratio(part, without_accents(text), score_cutoff=_SURE_NAME) > 0
        for part in without_accents(name).split()
    )


def similarity(first: str, second: str) -> float:
    """Return the similarity of two texts, 0 to 1."""
    return fuzz.ratio(without_accents(first), without_accents(second)) / 100
