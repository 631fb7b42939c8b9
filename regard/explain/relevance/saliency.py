"""Saliency (https://arxiv.org/abs/1312.6034), by which words were aligned without attention (arXiv:1610.10099)."""

from regard.explain.relevance.gradients import gradients
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class Saliency(Relevance):
    """|∂ log p / ∂ x|₂, x the vector of a word: the sensitivity of the answer to the word, without a sign."""

    aliases = "gradient, gradient_norm, vanilla_gradient"
    quick, signed = True, False

    def of(self, question: Question) -> Relevances:
        """One pass back for all items."""
        return Relevances(question.of_words([slope.norm(dim=-1) for slope in gradients(question, question.vectors)]))
