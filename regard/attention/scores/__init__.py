"""Scores: how well a query and a key match. One file a row, each built with (query_dim, key_dim)."""

from regard.attention.parts import Score
from regard.attention.scores.additive import AdditiveScore
from regard.attention.scores.bilinear import BilinearScore
from regard.attention.scores.concat import ConcatScore
from regard.attention.scores.context_vector import ContextVectorScore
from regard.attention.scores.cosine import CosineScore
from regard.attention.scores.coverage import CoverageScore
from regard.attention.scores.dot import DotScore
from regard.attention.scores.euclidean import EuclideanScore
from regard.attention.scores.inverse_distance import InverseDistanceScore
from regard.attention.scores.location import LocationScore
from regard.attention.scores.mlp import MlpScore
from regard.attention.scores.modulus import ModulusScore
from regard.attention.scores.relu_dot import ReluDotScore
from regard.attention.scores.rotary import RotaryScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.scores.uniform import UniformScore
from regard.registry import Registry

SCORES: Registry[Score] = Registry(
    "attention.score",
    {
        "additive": AdditiveScore,
        "bilinear": BilinearScore,
        "concat": ConcatScore,
        "context_vector": ContextVectorScore,
        "cosine": CosineScore,
        "coverage": CoverageScore,
        "dot": DotScore,
        "euclidean": EuclideanScore,
        "inverse_distance": InverseDistanceScore,
        "location": LocationScore,
        "mlp": MlpScore,
        "modulus": ModulusScore,
        "relu_dot": ReluDotScore,
        "rotary": RotaryScore,
        "scaled_dot": ScaledDotScore,
        "uniform": UniformScore,
    },
)
