"""Translation memory: segments that were translated before, found again by equal and similar text."""

from regard.memory.reuse import MATCHES, Recall, SegmentMemory, SentenceMatches, reused
from regard.memory.similarity import THRESHOLD
from regard.memory.store import RelatedSegment, TranslationMemory, TranslationUnit

__all__ = [
    "MATCHES",
    "THRESHOLD",
    "Recall",
    "RelatedSegment",
    "SegmentMemory",
    "SentenceMatches",
    "TranslationMemory",
    "TranslationUnit",
    "reused",
]
