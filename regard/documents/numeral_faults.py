"""Compares the numerals of a translation with its source: which are lost, and which are new."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from regard.documents.placeholders import placeholders
from regard.documents.text_spans import TextSpan, in_word
from regard.results import Prediction
from regard.scripts import UNSPACED

_LETTER = rf"[^\W{UNSPACED}]"  # or digit, of a script with spaces
_WRITTEN = re.compile(rf"(?<!{_LETTER}){_LETTER}{{0,40}}?\d(?:[.,:/]?{_LETTER}){{0,200}}+")
_DIGITS = re.compile(r"\d+")
_DECADE = re.compile(r"(?<!\d)\d{2,4}(?=s\b|er\b)")  # a word that keeps its digits in any language
_SMALL = re.compile(r"\d{1,2}")  # is often written as a word
_JOINS = frozenset("-–.,:/")  # between digits
_WORDED = ("en", "de", "fr", "es", "zh", "ja")  # languages of _NUMBER_WORD
_NUMBER_WORD = re.compile(  # also months, which Chinese and Japanese number
    r"""[一二三四五六七八九十百千万亿億两兩半双雙]|\b(?:
    one|two|three|(?:four|six|seven|eight|nine|ten|eleven)(?:th)?|five|fifth|twelve|twelfth|dozens?
    |(?:thir|four|fif|six|seven|eigh|nine)teen(?:th)?|(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ieth)
    |(?:hundred|thousand|[mb]illion)(?:th|s)?|first|second|third|eighth|ninth|half|quarter|twice|once|noon|midnight
    |jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?
    |nov(?:ember)?|dec(?:ember)?
    |eins|zw(?:ei|ölf)\w*|drei\w*|vier\w*|fünf\w*|sechs\w*|sieben\w*|acht(?:e|zehn\w*)?|neun\w*|zehn\w*|elf\w*
    |\w*(?:zwan|vier|fünf|sech|sieb|acht|neun)zig\w*|\w*dreißig\w*|\w*hundert\w*|\w*tausend\w*|milli\w+|dutzend
    |halb\w*|mittag\w*|mitternacht|januar|februar|märz|mai|jun[io]|jul[io]|okt\w*|dez\w*
    |deux\w*|trois\w*|quatre\w*|cinq\w*|sept\w*|huit\w*|neuf\w*|dix\w*|onze|douze|douzaine|treize|quatorze|quinze|seize
    |vingt\w*|trente|quarante|cinquante|soixante|cents?|mille|premi\w+|demie?|midi|minuit|janvier|février|mars|avril
    |juin|juillet|août|octobre|novembre|décembre
    |uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece|catorce|quince|dieci\w+|veint\w*|treinta|cuarenta
    |cincuenta|sesenta|setenta|ochenta|noventa|cien\w*|mil|primer\w*|medi[ao]\w*|docena|enero|febrero|marzo|abril|mayo
    |agosto|octubre|noviembre|diciembre
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_AHEAD, _BEHIND = frozenset("+-−‒–±~≈≤≥<>=$€£¥￥$#№"), frozenset("%％‰°℃℉′″$€£¥²³½¼¾×")


def has_number_word(text: str) -> bool:
    """Return whether a text in English, German, French, Spanish, Chinese or Japanese has a number in words."""
    return _NUMBER_WORD.search(text) is not None


def sticks_before(text: str, numeral: str) -> bool:
    """Return whether a text right before a numeral would read as a part of it, or it as a part of a word."""
    last, sign = text[-1:], text[-1:] in _JOINS and text[-2:-1].isdigit()
    return bool(last and numeral) and (sign or last in _AHEAD or in_word(last))


def sticks_behind(numeral: str, text: str) -> bool:
    """Return whether a text right behind a numeral would read as a part of it, or it as a part of a word."""
    first, sign = text[:1], text[:1] in _JOINS and text[1:2].isdigit()
    return bool(numeral and first) and (sign or first in _BEHIND or in_word(first))


def knows_number_words(language: str | None) -> bool:
    """Return whether numbers in words are known of a language, by its code."""
    return language is not None and re.split("[-_]", language)[0].lower() in _WORDED


def lost_numerals(numerals: Sequence[str], written: str) -> tuple[list[str], str]:
    """Return the numerals that do not stand whole in a text, each in a place of its own, and the text without them."""
    lost = list[str]()
    for numeral, count in sorted(Counter(numerals).items(), key=lambda one: -len(one[0])):
        places = [*islice(_whole(numeral, written), count)]
        lost += [numeral] * (count - len(places))
        if places:
            ends = [0, *(place.end for place in places)]
            starts = [*(place.start for place in places), len(written)]
            written = "\0".join(written[end:start] for end, start in zip(ends, starts, strict=True))
    return lost, written


def _whole(numeral: str, text: str) -> Iterator[TextSpan]:
    """Yield the places of a numeral, each without what the place before it has taken."""
    start, taken = text.find(numeral), 0
    while start >= 0:
        end = start + len(numeral)
        before = text[max(taken, start - 2) : start]
        if sticks_before(before, numeral) or sticks_behind(numeral, text[end : end + 2]):
            start = text.find(numeral, start + 1)
        else:
            yield TextSpan(start, end)
            taken, start = end, text.find(numeral, end)


def new_numbers(source: str, written: str, allowed: Collection[str] = ()) -> list[TextSpan]:
    """Return numbers in digits of a translation that its source does not have; none where it has number words.

    `allowed`: digits that may stand in it, as "3" of "3rd". Digits within a word, as in "ab4", are numbers, too.
    """
    if has_number_word(source):
        return []
    found = (TextSpan(*one.span()) for one in _WRITTEN.finditer(written))
    return [one for one in found if not {*_DIGITS.findall(written[one.start : one.end])} <= {*allowed}]


def digits_of_words(text: str, numerals: Iterable[tuple[int, int]], places: Sequence[int] | None = None) -> set[str]:
    """Return the digits of a text outside its numerals, as of "3rd".

    `places`: of its characters, where the spans of numerals are those of another text.
    """
    inside = {place for start, end in numerals for place in range(start, end)}
    where = range(len(text)) if places is None else places
    return {one[0] for one in _DIGITS.finditer(text) if where[one.start()] not in inside}


def numeral_warning(source: str, written: str, *, kept: Sequence[str] | None = None) -> str:
    """Return a line on the numerals that a translation lost or has in addition; "" where all is well.

    `kept`: the numerals of the source, where they are known. Where nothing kept them, a number of one or two digits may
    be written as a word.
    """
    spans = [TextSpan(*one[:2]) for one in placeholders(source) if one.numeral]
    numerals = [source[start:end] for start, end in spans] if kept is None else kept
    lost, rest = lost_numerals(numerals, written)
    if kept is None and has_number_word(written):
        lost = [one for one in lost if not _SMALL.fullmatch(one)]
    allowed = digits_of_words(source, spans)
    lost += [one for one in _DECADE.findall(source) if one in allowed and one not in rest]
    new = [rest[start:end] for start, end in new_numbers(source, rest, allowed)]
    lost_numbers = [f"'{one}' of the source is lost" for one in lost]
    return "; ".join([*lost_numbers, *(f"'{one}' is not a number of the source" for one in new)])


def compared(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return translations of single lines, which nothing kept whole, with a warning where numerals differ."""
    found = list[Prediction]()
    for one in predictions:
        warning = numeral_warning(one.source, one.text) if one.source != one.text else ""
        found.append(one.warned(warning) if warning else one)
    return found
