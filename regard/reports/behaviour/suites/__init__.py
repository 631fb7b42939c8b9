"""Behaviour suites. One file a row."""

from regard.registry import Registry
from regard.reports.behaviour.suite import Suite
from regard.reports.behaviour.suites.capitals import CapitalsSuite
from regard.reports.behaviour.suites.dates import DatesSuite
from regard.reports.behaviour.suites.empty import EmptySuite
from regard.reports.behaviour.suites.long_sentence import LongSentenceSuite
from regard.reports.behaviour.suites.names import NamesSuite
from regard.reports.behaviour.suites.negation import NegationSuite
from regard.reports.behaviour.suites.numbers import NumbersSuite
from regard.reports.behaviour.suites.one_word import OneWordSuite
from regard.reports.behaviour.suites.plain_sentence import PlainSentenceSuite
from regard.reports.behaviour.suites.punctuation import PunctuationSuite
from regard.reports.behaviour.suites.repetition import RepetitionSuite
from regard.reports.behaviour.suites.tags import TagsSuite
from regard.reports.behaviour.suites.unknown_script import UnknownScriptSuite
from regard.reports.behaviour.suites.wrong_language import WrongLanguageSuite

PLAIN_SUITE = "plain_sentence"  # the suite without which a mean says nothing
SUITES: Registry[Suite] = Registry(
    "--only",
    {
        PLAIN_SUITE: PlainSentenceSuite,
        "negation": NegationSuite,
        "numbers": NumbersSuite,
        "names": NamesSuite,
        "dates": DatesSuite,
        "one_word": OneWordSuite,
        "wrong_language": WrongLanguageSuite,
        "capitals": CapitalsSuite,
        "punctuation": PunctuationSuite,
        "tags": TagsSuite,
        "unknown_script": UnknownScriptSuite,
        "repetition": RepetitionSuite,
        "long_sentence": LongSentenceSuite,
        "empty": EmptySuite,
    },
)
