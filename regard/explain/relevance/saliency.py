"""Saliency (https://arxiv.org/abs/1312.6034), by which words were aligned without attention (arXiv:1610.10099)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


def gradients(question: Question, vectors: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradient (row, n, dim) of each row's score at these vectors, 0 for what is not read."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in vectors]
        scores = question.scores(given)
        found = torch.autograd.grad(scores.sum(), given, allow_unused=True)
    return [torch.zeros_like(one) if slope is None else slope for one, slope in zip(given, found, strict=True)]


class Saliency(Relevance):
    """|∂ log p / ∂ x|₂, x the vector of a word: the sensitivity of the answer to the word, without a sign."""

    aliases = "gradient, gradient_norm, vanilla_gradient"
    quick, signed = True, False

    def of(self, question: Question) -> Relevances:
        """One pass back for all items."""
        return Relevances(question.of_words([slope.norm(dim=-1) for slope in gradients(question, question.vectors)]))


class GradientTimesInput(Relevance):
    """sum_d x_d · ∂ log p / ∂ x_d, x the vector of a word: the word's contribution in a linear model."""

    aliases = "input_x_gradient, gradient_x_input, gxi"
    quick = True

    def of(self, question: Question) -> Relevances:
        """One pass back for all items."""
        vectors = question.vectors
        slopes = gradients(question, vectors)
        products = [(slope * one).sum(dim=-1) for slope, one in zip(slopes, vectors, strict=True)]
        return Relevances(question.of_words(products))
