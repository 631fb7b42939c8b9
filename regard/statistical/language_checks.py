"""Checks of the languages of texts: overlaps, two texts in one language, exchanged sides, names of other languages."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.errors import DataError
from regard.statistical.pair_checks.check import folded
from regard.statistical.pair_checks.language import CharacterModel
from regard.text.language_counts import count_languages, identifier

_SAMPLE = 4_000  # lines by which a language is detected
_FEWEST = 100  # lines below which nothing is said
_CHANCE = 0.75  # accuracy on lines below which two texts count as one language
_CLEAR = 0.8  # share of lines in one language, by py3langid, from which a text is in it
_LONG = 4  # words: shorter lines may recur in any text
_MOST_SHARED = 0.05  # of the lines of the smaller text
_FEWEST_NAMED = 20  # lines below which a text is not compared with its language code, nor pairs with other pairs
_ALIKE = [
    {"bs", "hr", "sr"},
    {"id", "ms"},
    {"da", "nn", "no"},
    {"gl", "pt"},
    {"ar", "ary", "arz"},
    {"wuu", "yue", "zh"},
]

_Sides = tuple[Sequence[str], Sequence[str]]


class PlainText(NamedTuple):
    """A text of one language."""

    place: str  # the file or option that errors name
    lines: Sequence[str]


def check_disjoint(first: PlainText, second: PlainText) -> None:
    """Raise DataError where more than 5 % of the lines of either text stand in the other, such as a text given twice.

    Lines of fewer than four words do not count: they recur in any text.
    """
    lines, others = (_long_lines(text.lines) for text in (first, second))
    fewest, shared = min(len(lines), len(others)), len(lines & others)
    if shared > _MOST_SHARED * fewest:
        problem = f"{shared:,} of {len(lines):,} different lines also stand in {second.place}"
        raise DataError(first.place, problem, hint="the two texts must not overlap: leave those lines out of one")


def check_two_languages(first: PlainText, second: PlainText) -> None:
    """Raise DataError for two texts in one language. Fewer than 100 lines are not checked.

    They are in one language where trigrams of characters cannot distinguish their lines, or where py3langid finds the
    same language in four of five long lines of both.
    """
    texts = [_sample(text.lines) for text in (first, second)]
    if min(map(len, texts)) < _FEWEST:
        return
    (code, share), (other, others) = (_main_language(lines) for lines in texts)
    if (code == other and min(share, others) >= _CLEAR) or in_one_language(*texts):
        problem = f"is in the language of {second.place}" + (f" ('{code}')" if code == other else "")
        raise DataError(first.place, problem, hint="two texts of two languages are needed")


def check_expected_language(text: PlainText, own: PlainText, other: PlainText, *, fewest: int = 100) -> None:
    """Raise DataError for a text that is in the language of `other` and not, as it should be, in that of `own`.

    With fewer lines than `fewest`, or fewer than 100 of the others, nothing is checked.
    """
    lines, owns, others = (_sample(one.lines) for one in (text, own, other))
    if len(lines) < fewest or min(len(owns), len(others)) < _FEWEST or in_one_language(owns, others):
        return
    gains = CharacterModel(others).log_probs(lines) - CharacterModel(owns).log_probs(lines)
    if (gains > 0).mean() > _CHANCE:
        problem = f"is in the language of {other.place}, not in that of {own.place}"
        raise DataError(text.place, problem, hint="are the two sides exchanged?")


def in_one_language(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether trigrams of characters confuse the lines of two texts; False for fewer than 100 lines.

    Models of every other line of each text score the lines between them. Two topics of one language may be separable,
    too, so True is sure, and False is not.
    """
    texts = [_sample(lines) for lines in (first, second)]
    if min(map(len, texts)) < _FEWEST:
        return False
    models = [CharacterModel(lines[::2]) for lines in texts]
    right = 0.0
    for own, other, lines in zip(models, reversed(models), texts, strict=True):
        right += float((own.log_probs(lines[1::2]) > other.log_probs(lines[1::2])).mean()) / 2
    return right < _CHANCE


def misnamed_languages(sides: _Sides, codes: tuple[str | None, str | None]) -> str | None:
    """Return a line where py3langid finds another language than the code of a side in four of five of its long lines.

    None for fewer than 20 different lines, for unknown codes, and for languages that it confuses, such as Croatian and
    Serbian.
    """
    own = [(code or "").partition("-")[0].lower() for code in codes]
    texts = [_sample(lines) for lines in sides]
    if min(len({*lines}) for lines in texts) < _FEWEST_NAMED or not {*own} <= {*identifier().nb_classes}:
        return None
    main = [_main_language(lines) for lines in texts]
    found = [code if share >= _CLEAR else named for named, (code, share) in zip(own, main, strict=True)]
    wrong = [
        f"the {side}, named '{named}', is in '{code}'"
        for side, named, code in zip(("source", "target"), own, found, strict=True)
        if named != code and not any({named, code} <= group for group in _ALIKE)
    ]
    return " and ".join(wrong) + (": are the two exchanged?" if found == own[::-1] else "") if wrong else None


def are_exchanged(pairs: _Sides, usual: _Sides) -> bool:
    """Return whether three of four pairs fit those of `usual` better with source and target exchanged.

    By trigrams of characters; False for fewer than 20 of either.
    """
    (source, target), models = pairs, [CharacterModel(_sample(side)) for side in usual]
    if min(len(source), *map(len, usual)) < _FEWEST_NAMED:
        return False
    own, other = (a.log_probs(source) + b.log_probs(target) for a, b in (models, models[::-1]))
    return bool((other > own).mean() > _CHANCE)


def _main_language(lines: Sequence[str]) -> tuple[str, float]:
    """The language of most lines and their share."""
    ((code, count),) = (found := count_languages(lines)).most_common(1)
    return code, count / found.total()


def _sample(lines: Sequence[str]) -> list[str]:
    """Up to 4,000 lines, spread over a text, that are not empty."""
    step = max(1, -(-len(lines) // _SAMPLE))
    return [line for line in lines[::step] if line.strip()]


def _long_lines(lines: Iterable[str]) -> set[str]:
    return {folded(line) for line in lines if len(line.split()) >= _LONG or not line.isascii()}
