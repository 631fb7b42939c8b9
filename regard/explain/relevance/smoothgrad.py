"""SmoothGrad (https://arxiv.org/abs/1706.03825)."""

from typing import Annotated

import torch

from regard.config import Doc
from regard.config.bounds import Positive, Seed, Size
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question
from regard.explain.relevance.saliency import gradients


class SmoothGrad(Relevance):
    """Gradient times input, the gradient being the mean of those at x + N(0, σ²); σ = noise · standard deviation of x.

    The mean removes the noise of the gradient at a single point.
    """

    aliases = "smooth_gradient"

    def __init__(
        self,
        *,
        samples: Annotated[Size, Doc("Number of noisy samples.")] = 16,
        noise: Annotated[Positive, Doc("Noise level, as a fraction of the spread of a word's vector.")] = 0.15,
        seed: Annotated[Seed, Doc("Random seed of the noise.")] = 1,
    ) -> None:
        self.samples, self.noise, self.seed = samples, noise, seed

    def of(self, question: Question) -> Relevances:
        """Run one backward pass for each sample; all items have the same noise, so they can be compared."""
        vectors, generator = question.vectors, torch.Generator().manual_seed(self.seed)
        means = [torch.zeros_like(one) for one in vectors]
        for _ in range(self.samples):
            noisy = []
            for one in vectors:
                noise = torch.randn(one.shape[1:], generator=generator, dtype=one.dtype).to(one.device)
                noisy.append(one + self.noise * one.std(dim=-1, keepdim=True) * noise)
            slopes = gradients(question, noisy)
            means = [mean + slope / self.samples for mean, slope in zip(means, slopes, strict=True)]
        return Relevances(
            question.of_words([(mean * one).sum(dim=-1) for mean, one in zip(means, vectors, strict=True)])
        )
