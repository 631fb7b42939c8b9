"""Attention weights as relevance (https://arxiv.org/abs/1409.0473)."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention import recording
from regard.explain.alignment_view import mean_of_heads
from regard.explain.maps import attention_maps
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class Look(NamedTuple):
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
        looks, places = looks_of(question)
        last, found = question.columns[-1], []
        for column, (_, ids) in zip(question.columns, question.reads, strict=True):
            rows = torch.zeros(len(places), ids.shape[1])
            for look in looks:
                if look.keys == column and look.queries in ("", last):
                    rows = item_rows(look.weights, look.queries, places)
            found.append(rows)
        return Relevances(found)


def looks_of(question: Question) -> tuple[list[Look], list[int | None]]:
    """Return every attention by layer, and the place of each item in the last column; None: it has none."""
    lengths = {name: ids.shape[1] for name, (_, ids) in zip(question.columns, question.reads, strict=True)}
    with torch.no_grad(), recording(question.model) as records:
        answer = question.answer(question.vectors)
    placed = answer.shape[1] == lengths[question.columns[-1]]
    maps = attention_maps(records, 0, lengths, pooled=True)
    looks = []
    for one in maps:  # those whose states are one for each word
        look = Look(one.queries, one.keys, torch.tensor(mean_of_heads(one)))
        wide = look.weights.dim() == 2 and look.weights.shape[1] == lengths[look.keys]
        if wide and (not look.queries or look.weights.shape[0] == lengths[look.queries]):
            looks.append(look)
    return looks, [place if placed else None for place in question.items.tolist()]


def item_rows(weights: Tensor, queries: str, places: list[int | None]) -> Tensor:
    """(query, key) → (item, key): the row of each item's place, or the mean of all rows."""
    mean = weights.mean(dim=0)
    return torch.stack([mean if place is None or not queries else weights[place] for place in places])
