"""What a model answers, as plain values: no torch here, so a server, a notebook and a page can hold them cheaply."""

from regard.results.explanation import (
    AttentionMap,
    ColumnLink,
    Explanation,
    LabelledArray,
    TokenRole,
    Tokens,
    WordRelevance,
)
from regard.results.prediction import (
    DocumentPrediction,
    LabelPrediction,
    NearestPrediction,
    NumbersPrediction,
    Prediction,
    SpanPrediction,
    TagsPrediction,
    TextPrediction,
    as_line,
    empty_answer,
)
from regard.results.translation_reports import (
    LexiconReport,
    Place,
    SearchNode,
    SearchTree,
    TermReport,
    TermUse,
    TranslationFault,
)

__all__ = [
    "AttentionMap",
    "ColumnLink",
    "DocumentPrediction",
    "Explanation",
    "LabelPrediction",
    "LabelledArray",
    "LexiconReport",
    "NearestPrediction",
    "NumbersPrediction",
    "Place",
    "Prediction",
    "SearchNode",
    "SearchTree",
    "SpanPrediction",
    "TagsPrediction",
    "TermReport",
    "TermUse",
    "TextPrediction",
    "TokenRole",
    "Tokens",
    "TranslationFault",
    "WordRelevance",
    "as_line",
    "empty_answer",
]
