"""Behaviour tests: `regard check`."""

from regard.reports.behaviour.behaviour import BADGE, behaviour_report, check_contestants, read_suites
from regard.reports.behaviour.contestants import is_url, open_contestants
from regard.reports.behaviour.suite import Case, CodePair, Suite
from regard.reports.behaviour.suites import SUITES

__all__ = [
    "BADGE",
    "SUITES",
    "Case",
    "CodePair",
    "Suite",
    "behaviour_report",
    "check_contestants",
    "is_url",
    "open_contestants",
    "read_suites",
]
