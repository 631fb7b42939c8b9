"""Spans of a few keys in all their shapes, and what tests of them are fed with."""

import torch
from torch import Tensor

from regard.attention import SCORES
from regard.registry import Choice

HEADS, DIM = 2, 4
SPANS_HERE = {
    "itself": Choice("window", {"radius": 0}),
    "band": Choice("window", {"radius": 3}),
    "wide": Choice("window", {"radius": 20}),
    "dilated": Choice("window", {"radius": 13, "dilation": 3, "pattern": "dilated"}),
    "too-dilated": Choice("window", {"radius": 2, "dilation": 3, "pattern": "dilated"}),
    "sparse": Choice("window", {"radius": 9, "dilation": 3, "pattern": "sparse"}),
    "same-position": Choice("same_position"),
    "monotonic": Choice("local_monotonic", {"radius": 4}),
    "monotonic-gaussian": Choice("local_monotonic", {"radius": 4, "gaussian": True}),
    "monotonic-normal": Choice("local_monotonic", {"radius": 4, "gaussian": True, "renormalise": True}),
    "predictive": Choice("local_predictive", {"radius": 2}),
    "predictive-wide": Choice("local_predictive", {"radius": 5}),
    "predictive-plain": Choice("local_predictive", {"radius": 2, "gaussian": False}),
    "predictive-normal": Choice("local_predictive", {"radius": 2, "renormalise": True}),
}


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def small(score: str) -> Choice:
    return Choice(score, {"hidden_dim": 3} if "hidden_dim" in SCORES.settings(score) else {})


def padded(batch: int, heads: int, keys: int) -> Tensor:
    """One row padded behind, one with holes in the middle, one that shows nothing."""
    mask = torch.rand(batch, 1, keys) < 0.7
    mask[0] = torch.arange(keys) < keys // 2
    mask[-1] = False
    return mask if heads else mask.squeeze(1)
