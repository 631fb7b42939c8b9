"""Gradient times input (https://arxiv.org/abs/1605.01713)."""

from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question
from regard.explain.relevance.saliency import gradients


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
