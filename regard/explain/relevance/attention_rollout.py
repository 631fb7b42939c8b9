"""Attention through all layers (https://arxiv.org/abs/2005.00928), mixed with the source as in arXiv:2205.11631."""

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.explain.relevance.attention_weights import item_rows, looks_of
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class AttentionRollout(Relevance):
    """The product of all layers' attention, each as (A + I) / 2 for what goes around it.

    A decoder's layer is mixed with what it looks at in the source, too. The words of an item have 1 together. States of
    a recurrent network are taken for their words.
    """

    aliases = "rollout, attention_flow"
    quick, signed = True, False

    def of(self, question: Question) -> Relevances:
        """One pass forth."""
        looks, places = looks_of(question)
        widths = {name: ids.shape[1] for name, (_, ids) in zip(question.columns, question.reads, strict=True)}
        start = {name: _alone(name, widths) for name in widths}
        states, pooled = dict(start), None
        for look in looks:
            mixed = {name: look.weights @ part for name, part in states[look.keys].items()}
            if look.queries:
                states[look.queries] = {name: (states[look.queries][name] + mixed[name]) / 2 for name in widths}
            else:
                pooled = mixed
        last = question.columns[-1]
        parts = {name: item_rows(part, last, places) for name, part in states[last].items()}
        if pooled is not None:
            parts = {name: item_rows(part, "", places) for name, part in pooled.items()}
        return Relevances([parts[name] for name in question.columns])


def _alone(column: str, widths: Mapping[str, int]) -> dict[str, Tensor]:
    """Each word of a column is itself and nothing else: (place, n) of each column."""
    count = widths[column]
    return {name: torch.eye(count) if name == column else torch.zeros(count, n) for name, n in widths.items()}
