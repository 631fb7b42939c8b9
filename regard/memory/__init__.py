"""Translation memory: segments that were translated before, found again by equal and similar text."""

from regard.memory.reuse import MATCHES, Recall, SegmentMemory, SentenceMatches, reused
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
    "reused",
]
