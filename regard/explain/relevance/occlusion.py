"""Occlusion (https://arxiv.org/abs/1311.2901, section 4.2): a word is covered, and what is lost is its relevance."""

import torch

from regard.explain.relevance.integrated_gradients import BaselineChoice
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class Occlusion(Relevance):
    """log p(x) - log p(x without the word), a word that says nothing in its place. A pass for each word."""

    aliases = "leave_one_out, ablation, perturbation"

    def __init__(self, *, baseline: BaselineChoice = "unknown") -> None:
        self.baseline = baseline

    @torch.no_grad()
    def of(self, question: Question) -> Relevances:
        """Cover one place of what is read at a time; the other words stay where they are."""
        vectors, covers = question.vectors, question.baseline(self.baseline)
        whole, found = question.scores(vectors), list[torch.Tensor]()
        for number, (one, cover) in enumerate(zip(vectors, covers, strict=True)):
            losses = []
            for place in range(one.shape[1]):
                covered = one.clone()
                covered[:, place] = cover[:, place]
                losses.append(whole - question.scores([*vectors[:number], covered, *vectors[number + 1 :]]))
            found.append(torch.stack(losses, dim=-1))
        return Relevances(found)
