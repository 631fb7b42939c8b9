"""Integrated gradients (https://arxiv.org/abs/1703.01365, equation 1)."""

from typing import Annotated

import numpy as np
import torch

from regard.config import Doc
from regard.config.bounds import Size
from regard.explain.relevance.gradients import gradients
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Baseline, Question

BaselineChoice = Annotated[
    Baseline, Doc("What stands for a word that says nothing: unknown, the vector of <unk> in its place; or zero.")
]


class IntegratedGradients(Relevance):
    """sum_d (x_d - b_d) · ∫ ∂ log p / ∂ x_d at b + t (x - b), t from 0 to 1, b the vector of a word that says nothing.

    The sum over all words is log p(x) - log p(b), as far as `steps` of Gauss and Legendre's rule measure the integral.
    """

    aliases = "ig, path_integrated_gradients"

    def __init__(
        self,
        *,
        steps: Annotated[Size, Doc("Places between the baseline and the text where gradients are taken.")] = 32,
        baseline: BaselineChoice = "unknown",
    ) -> None:
        self.steps, self.baseline = steps, baseline

    def of(self, question: Question) -> Relevances:
        """As many passes back as there are steps."""
        ends, starts = question.vectors, question.baseline(self.baseline)
        means = [torch.zeros_like(one) for one in ends]
        for place, weight in zip(*np.polynomial.legendre.leggauss(self.steps), strict=True):
            between = [start + (end - start) * (place + 1) / 2 for start, end in zip(starts, ends, strict=True)]
            slopes = gradients(question, between)
            means = [mean + slope * (weight / 2) for mean, slope in zip(means, slopes, strict=True)]
        parts = [(mean * (end - start)).sum(dim=-1) for mean, start, end in zip(means, starts, ends, strict=True)]
        with torch.no_grad():
            total = question.scores(ends) - question.scores(starts)
        return Relevances(question.of_words(parts), total)
