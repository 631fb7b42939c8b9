"""Attention weights as relevance (https://arxiv.org/abs/1409.0473)."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention import recording
from regard.explain.alignment_view import mean_of_heads
from regard.explain.maps import attention_maps
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class MeanWeights(NamedTuple):
    """The weights of one attention, the mean of its heads."""

    queries: str  # the column that looks; "": a learned question
    keys: str
    weights: Tensor  # (query, key)


class AttentionWeights(Relevance):
    """The weights of the last attention to a word's column, the mean of its heads.

    For a label they are the mean over its learned queries, or over the words that attend.
    """

    aliases = "raw_attention"
    quick, signed, comparable = True, False, False

    def of(self, question: Question) -> Relevances:
        """One pass forth."""
        every_mean, places = mean_weights_of(question)
        last, found = question.columns[-1], []
        for column, (_, ids) in zip(question.columns, question.reads, strict=True):
            rows = torch.zeros(len(places), ids.shape[1])
            for mean in every_mean:
                if mean.keys == column and mean.queries in ("", last):
                    rows = item_rows(mean.weights, mean.queries, places)
            found.append(rows)
        return Relevances(found)


def mean_weights_of(question: Question) -> tuple[list[MeanWeights], list[int | None]]:
    """Return every attention by layer, and the place of each item in the last column; None: it has none."""
    lengths = {name: ids.shape[1] for name, (_, ids) in zip(question.columns, question.reads, strict=True)}
    with torch.no_grad(), recording(question.model) as records:
        answer = question.answer(question.vectors)
    placed = answer.shape[1] == lengths[question.columns[-1]]
    maps = attention_maps(records, 0, lengths, pooled=True)
    every_mean = []
    for one in maps:  # those whose states are one for each word
        mean = MeanWeights(one.queries, one.keys, torch.tensor(mean_of_heads(one)))
        wide = mean.weights.dim() == 2 and mean.weights.shape[1] == lengths[mean.keys]
        if wide and (not mean.queries or mean.weights.shape[0] == lengths[mean.queries]):
            every_mean.append(mean)
    return every_mean, [place if placed else None for place in question.items.tolist()]


def item_rows(weights: Tensor, queries: str, places: list[int | None]) -> Tensor:
    """(query, key) → (item, key): the row of each item's place, or the mean of all rows."""
    mean = weights.mean(dim=0)
    return torch.stack([mean if place is None or not queries else weights[place] for place in places])
