"""Attention through all layers (https://arxiv.org/abs/2005.00928), mixed with the source as in arXiv:2205.11631."""

import torch

from regard.explain.relevance.attention_weights import item_rows, mean_weights_of
from regard.explain.relevance.method import Relevance, Relevances
from regard.explain.relevance.question import Question


class AttentionRollout(Relevance):
    """The product of all layers' attention, each as (A + I) / 2 to account for the residual connection.

    A decoder's layer is also mixed with its attention to the source. The weights of the words of an item sum to 1. A
    state of a recurrent network counts as its word.
    """

    aliases = "rollout, attention_flow"
    quick, signed = True, False

    def of(self, question: Question) -> Relevances:
        """One pass forth."""
        every_mean, places = mean_weights_of(question)
        widths = {name: ids.shape[1] for name, (_, ids) in zip(question.columns, question.reads, strict=True)}
        start = {  # each word of a column is itself and nothing else: (place, n) of each column
            name: {other: torch.eye(wide) if other == name else torch.zeros(wide, n) for other, n in widths.items()}
            for name, wide in widths.items()
        }
        states, pooled = dict(start), None
        for mean in every_mean:
            mixed = {name: mean.weights @ part for name, part in states[mean.keys].items()}
            if mean.queries:
                states[mean.queries] = {name: (states[mean.queries][name] + mixed[name]) / 2 for name in widths}
            else:
                pooled = mixed
        last = question.columns[-1]
        parts = {name: item_rows(part, last, places) for name, part in states[last].items()}
        if pooled is not None:
            parts = {name: item_rows(part, "", places) for name, part in pooled.items()}
        return Relevances([parts[name] for name in question.columns])
