"""Counts of the features of labelled texts, and what naive Bayes makes of them."""

from typing import Self

import torch
from torch import Tensor


class FeatureCounts:
    """Numbers of texts with each feature, in all and with each label."""

    def __init__(self, features: int, labels: int, *, dtype: torch.dtype = torch.float32) -> None:
        self.texts = torch.zeros(features, 1, dtype=dtype)
        self.labelled = torch.zeros(features, labels, dtype=dtype)

    def add(self, ids: Tensor, rows: Tensor, labels: Tensor) -> Self:
        """Count features `ids` (n,) of the texts `rows` (n,), each once a text; labels (text, label) are 1 or 0."""
        self.texts.index_add_(0, ids, torch.ones(len(ids), 1, dtype=self.texts.dtype))
        self.labelled.index_add_(0, ids, labels.to(self.labelled)[rows])
        return self

    def log_count_ratios(self) -> Tensor:
        """Return log(p / ‖p‖ / (q / ‖q‖)), (feature, label), and 0 for features without a text.

        p and q are 1 + the texts with and without the label that have the feature: https://aclanthology.org/P12-2018.
        """
        kinds = 1 + self.labelled, 1 + self.texts - self.labelled
        ours, theirs = (count.div(count.sum(dim=0)).log() for count in kinds)
        return (ours - theirs).where(self.texts > 0, 0.0)
