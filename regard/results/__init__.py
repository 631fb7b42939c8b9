"""Answers of a model, as plain values: no torch here, so a server, a notebook and a page can hold them cheaply."""

from regard.results.explanation import AttentionMap, ColumnLink, Explanation, TokenRole, Tokens, WordRelevance
from regard.results.prediction import BETWEEN_ANSWERS, DocumentPrediction, Prediction, TextPrediction, as_line
from regard.results.translation_reports import (
    LexiconReport,
    MemoryMatch,
    Place,
    SearchNode,
    SearchTree,
    SegmentDifference,
    SegmentEvidence,
    TermReport,
    TermUse,
    TranslationFault,
    WordEvidence,
)

__all__ = [
    "BETWEEN_ANSWERS",
    "AttentionMap",
    "ColumnLink",
    "DocumentPrediction",
    "Explanation",
    "LexiconReport",
    "MemoryMatch",
    "Place",
    "Prediction",
    "SearchNode",
    "SearchTree",
    "SegmentDifference",
    "SegmentEvidence",
    "TermReport",
    "TermUse",
    "TextPrediction",
    "TokenRole",
    "Tokens",
    "TranslationFault",
    "WordEvidence",
    "WordRelevance",
    "as_line",
]
