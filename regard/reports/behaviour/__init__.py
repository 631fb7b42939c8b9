"""Behaviour tests: `regard check`."""

from regard.reports.behaviour.behaviour import (
    BADGE,
    BehaviourResults,
    behaviour_report,
    check_contestants,
    read_suites,
    sampled_cases,
)
from regard.reports.behaviour.contestants import Contestant, is_url, open_contestants
from regard.reports.behaviour.suite import Case, CodePair, Suite
from regard.reports.behaviour.suites import SUITES

__all__ = [
    "BADGE",
    "SUITES",
    "BehaviourResults",
    "Case",
    "CodePair",
    "Contestant",
    "Suite",
    "behaviour_report",
    "check_contestants",
    "is_url",
    "open_contestants",
    "read_suites",
    "sampled_cases",
]
