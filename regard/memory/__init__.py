"""Translation memory: segments that were translated before, found again by equal and similar text."""

from regard.memory.files import read_units, write_units
from regard.memory.reuse import (
    MATCHES,
    Recall,
    SegmentMemory,
    SentenceMatches,
    join_answers,
    places_left,
    recall,
    reused,
)
from regard.memory.similarity import THRESHOLD
from regard.memory.store import TranslationMemory, TranslationUnit

__all__ = [
    "MATCHES",
    "THRESHOLD",
    "Recall",
    "SegmentMemory",
    "SentenceMatches",
    "TranslationMemory",
    "TranslationUnit",
    "join_answers",
    "places_left",
    "read_units",
    "recall",
    "reused",
    "write_units",
]
