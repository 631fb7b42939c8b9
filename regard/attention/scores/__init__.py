"""Scores: how well a query and a key match. One file a row, each built with (query_dim, key_dim)."""

from regard.attention.parts import Score
from regard.attention.scores.additive import AdditiveScore
from regard.attention.scores.bilinear import BilinearScore
from regard.attention.scores.coverage import CoverageScore
from regard.attention.scores.dot import DotScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.registry import Registry

SCORES: Registry[Score] = Registry(
    "attention.score",
    {
        "additive": AdditiveScore,
        "bilinear": BilinearScore,
        "coverage": CoverageScore,
        "dot": DotScore,
        "scaled_dot": ScaledDotScore,
    },
)
