"""Softmax over what may be seen."""

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """softmax over the last axis with hidden entries exactly 0; a row with none visible is all 0, gradients finite."""
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    if may_hide_a_row(mask):
        # 0/0 rows: the outer fill makes them 0, the inner fill's backward keeps their NaN from the scores
        weights = weights.masked_fill(~mask, 0.0)
    return weights


def may_hide_a_row(mask: Tensor) -> bool:
    """False only where it is cheap to see that every row shows something: asking a GPU would wait for it."""
    if mask.device.type != "cpu" or torch.compiler.is_compiling():
        return True
    return not bool(mask.any(dim=-1).all())
