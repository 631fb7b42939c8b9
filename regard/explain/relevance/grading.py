"""Faithfulness of an explanation: changes of the answer when words are covered (deletion) or shown (insertion)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from regard.explain.relevance.question import Baseline, Question

FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the words of a text


class Curves(NamedTuple):
    """Mean of each curve for the items (item,) of one example."""

    deletion: Tensor  # probability lost as the most relevant words are covered: more is better
    insertion: Tensor  # probability where none but these are shown: more is better


@torch.no_grad()
def curves(question: Question, relevance: Tensor, baseline: Baseline = "unknown") -> Curves:
    """Cover or show the words of the first column in the order of their relevance (item, n), a `SHARES` at a time.

    Ties keep the order of the text. Covered words are replaced by words without meaning.
    """
    shown, covers = question.vectors, question.baseline(baseline)
    count, rows = relevance.shape[1], len(shown[0]) // len(relevance)
    ranks = relevance.argsort(dim=1, descending=True, stable=True).argsort(dim=1).to(shown[0].device)
    whole = question.scores(shown).exp()
    deletion, insertion = torch.zeros_like(whole), torch.zeros_like(whole)
    for share in FRACTIONS:
        top = (ranks < math.ceil(share * count)).repeat_interleave(rows, dim=0).unsqueeze(-1)
        without = question.scores([torch.where(top, covers[0], shown[0]), *shown[1:]]).exp()
        alone = question.scores([torch.where(top, shown[0], covers[0]), *shown[1:]]).exp()
        deletion, insertion = deletion + (whole - without) / len(FRACTIONS), insertion + alone / len(FRACTIONS)
    return Curves(deletion, insertion)


def rank_correlation(one: Tensor, other: Tensor) -> Tensor:
    """Return Spearman's correlation (item,) of the relevance (item, n) of words by two explanations.

    Equal ones share their mean rank; nan where one explanation has no order.
    """
    ranks = []
    for each in (one.double(), other.double()):  # how many are smaller, those that are equal counted half
        own, others = each.unsqueeze(2), each.unsqueeze(1)
        ranks.append((own > others).double().sum(dim=2) + (own == others).double().sum(dim=2) / 2)
    first, second = (each - each.mean(dim=1, keepdim=True) for each in ranks)
    return (first * second).sum(dim=1) / (first.norm(dim=1) * second.norm(dim=1))
