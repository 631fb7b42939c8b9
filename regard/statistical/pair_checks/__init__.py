"""Checks of sentence pairs: each finds one kind of fault, and says how sure it is. One file a row."""

from typing import cast

from regard.registry import Registry
from regard.statistical.pair_checks.check import CLEAR_FAULT, PairCheck, PairCorpus, TextPair
from regard.statistical.pair_checks.copied import CopiedSource
from regard.statistical.pair_checks.empty import EmptySide
from regard.statistical.pair_checks.encoding import WrongEncoding
from regard.statistical.pair_checks.language import WrongLanguage
from regard.statistical.pair_checks.length import UnequalLength
from regard.statistical.pair_checks.long_word import LongWord
from regard.statistical.pair_checks.markup import UnequalMarkup
from regard.statistical.pair_checks.numerals import DifferentNumbers
from regard.statistical.pair_checks.repeated import RepeatedPair
from regard.statistical.pair_checks.script import ForeignScript
from regard.statistical.pair_checks.unrelated import UnrelatedSides

PAIR_CHECKS: Registry[PairCheck] = Registry(
    "pair_check",
    {
        "copied": CopiedSource,
        "empty": EmptySide,
        "encoding": WrongEncoding,
        "language": WrongLanguage,
        "length": UnequalLength,
        "long_word": LongWord,
        "markup": UnequalMarkup,
        "numbers": DifferentNumbers,
        "repeated": RepeatedPair,
        "script": ForeignScript,
        "unrelated": UnrelatedSides,
    },
)


def check_class(name: str) -> type[PairCheck]:
    """Return the class of a row."""
    return cast(type[PairCheck], PAIR_CHECKS[name])


__all__ = ["CLEAR_FAULT", "PAIR_CHECKS", "PairCorpus", "TextPair", "check_class"]
