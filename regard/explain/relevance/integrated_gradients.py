"""Integrated gradients (https://arxiv.org/abs/1703.01365, equation 1)."""

import math
from typing import Annotated

import numpy as np
import torch

from regard.config import Doc
from regard.config.bounds import Size
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Baseline, Question
from regard.explain.relevance.saliency import gradients

BaselineChoice = Annotated[Baseline, Doc("Baseline for a word: unknown (the <unk> vector) or zero.")]

PASS_ROWS = 128  # of one pass: items times steps


class IntegratedGradients(Relevance):
    """sum_d (x_d - b_d) · ∫ ∂ log p / ∂ x_d at b + t (x - b), t from 0 to 1, b the vector of a word that says nothing.

    The sum over all words is log p(x) - log p(b), as far as `steps` of Gauss and Legendre's rule measure the integral.
    """

    aliases = "ig, path_integrated_gradients"

    def __init__(
        self,
        *,
        steps: Annotated[Size, Doc("Number of integration steps from the baseline to the text.")] = 32,
        baseline: BaselineChoice = "unknown",
    ) -> None:
        self.steps, self.baseline = steps, baseline

    def of(self, question: Question) -> Relevances:
        """Fill each backward pass with steps of several items: small passes would spend their time on calls."""
        ends, starts = question.vectors, question.baseline(self.baseline)
        means = [torch.zeros_like(one) for one in ends]
        places, weights = np.polynomial.legendre.leggauss(self.steps)
        passes = math.ceil(self.steps * len(question.items) / PASS_ROWS)
        for some in np.array_split(np.arange(self.steps), min(max(1, passes), self.steps)):
            several = question.about(question.items.repeat(len(some)))
            shares = [(place + 1) / 2 for place in places[some]]
            between = [
                torch.cat([start + (end - start) * share for share in shares])
                for start, end in zip(starts, ends, strict=True)
            ]
            for number, slope in enumerate(gradients(several, between)):
                for weight, part in zip(weights[some], slope.chunk(len(some)), strict=True):
                    means[number] += part * (weight / 2)
        parts = [(mean * (end - start)).sum(dim=-1) for mean, start, end in zip(means, starts, ends, strict=True)]
        with torch.no_grad():
            total = question.scores(ends) - question.scores(starts)
        return Relevances(question.of_words(parts), total)
