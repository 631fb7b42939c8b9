"""Gradients of what is explained, by the vectors of the words."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.explain.relevance.question import Question


def gradients(question: Question, vectors: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradient (row, n, dim) of each row's score at these vectors, 0 for what is not read."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in vectors]
        scores = question.scores(given)
        found = torch.autograd.grad(scores.sum(), given, allow_unused=True)
    return [torch.zeros_like(one) if slope is None else slope for one, slope in zip(given, found, strict=True)]
