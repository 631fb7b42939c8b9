"""One head of the attention to the source learns where a word aligner links (https://arxiv.org/abs/1909.02074)."""

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from regard.attention import Records, Role
from regard.attention.attention import attentions_in
from regard.config import Doc, PartOf
from regard.config.bounds import AnyInt, Count
from regard.models import Model
from regard.objectives.objective import Context, PairLinks
from regard.objectives.penalties.penalty import Attentions, Penalty, TrainedHead, Weight
from regard.records import Batch
from regard.registry import Choice
from regard.statistical import ALIGNERS

_SIDES = "target", "source"  # queries and keys
_LEAST = 1e-12  # of a weight whose logarithm is taken


class GuidedAlignmentPenalty(Penalty):
    """-sum_t sum_i g_ti log weights_ti, g_t even over the source pieces that target piece t is linked to (section 4.2).

    Links of words are those of an aligner that learns from the training pairs in both directions; pieces have the links
    of their words, and a piece without any costs nothing, nor does a pair that is not a training pair as it was read.
    A weighting whose weights can be 0 learns little: there the logarithm has no slope.

    Cost: O(n·m)
    """

    aliases = "guided_attention, supervised_attention, alignment_head, layer_average_alignment, 引导对齐"

    def __init__(
        self,
        *,
        weight: Weight = 0.05,
        attentions: Attentions = None,
        layer: Annotated[
            AnyInt | None,
            Doc("Index of the attention layer, from 0, or from the top with -1; null: the last but one."),
        ] = None,
        head: Annotated[Count, Doc("Index of the attention head to supervise, from 0.")] = 0,
        ahead: Annotated[
            bool, Doc("Supervise a word one step later, when it is the decoder's input rather than its output.")
        ] = False,
        aligner: Annotated[Choice, PartOf(ALIGNERS), Doc("Alignment model of the training pairs.")] = Choice("hmm"),
    ) -> None:
        super().__init__(weight, attentions)
        self.layer, self.head, self.ahead, self.aligner = layer, head, ahead, aligner
        self.links: PairLinks = same_place

    def bind(self, context: Context) -> None:
        if context.links is not None:
            self.links = context.links(self.aligner)

    def concerns(self, role: Role) -> bool:
        """Return whether it looks from a translation at its source."""
        return (role.queries, role.keys) == _SIDES

    def trained_head(self, model: Model, route: str) -> TrainedHead:
        """Return the head that learns to link, among the attentions that a route goes through."""
        taken = {id(one) for part in model.along(route) for one in attentions_in(part).values()}
        found = {name: one for name, one in attentions_in(model).items() if id(one) in taken}
        crossing = {name: one.role for name, one in found.items() if self.concerns(one.role)}
        name = self._of_layer([name for name, role in crossing.items() if self.applies(name, role)])
        return [*crossing].index(name), self.head, self.ahead

    def chosen(self, records: Records) -> Records:
        """Return the one of its layer, among those that answered."""
        found = super().chosen(records)
        answered = [name for name, seen in found.items() if seen.answers]
        if not answered:
            return found
        name = self._of_layer(answered)
        return {name: found[name]}

    def _of_layer(self, names: Sequence[str]) -> str:
        layer = (-2 if len(names) > 1 else -1) if self.layer is None else self.layer
        if not -len(names) <= layer < len(names):
            problem = f"there is no layer {layer} among {len(names)} that attend to the source"
            raise self.refused("layer", problem, "count from 0, or from the top with -1, -2 …")
        return names[layer]

    def of_one(self, name: str, role: Role, weights: Tensor, batch: Batch) -> Tensor:
        """weights (rows, head, target, source) → (rows, target), without the last place where `ahead`."""
        if not self.concerns(role):
            raise self.refused("attentions", f"'{name}' attends to no source of a translation", "leave it out")
        if self.head >= weights.shape[1]:
            problem = f"there is no head {self.head} among {weights.shape[1]} of '{name}'"
            raise self.refused("head", problem, "count from 0")
        looked, links = weights[:, self.head], self.links(batch).to(weights.device)
        links = self.fitted(links.repeat(len(weights) // max(1, len(links)), 1, 1), looked.shape[-1], name)
        if self.ahead:
            looked, links = looked[:, 1:], links[:, :-1]
        shares = links / links.sum(dim=-1, keepdim=True).clamp(min=1)
        return -(shares * looked.clamp(min=_LEAST).log()).sum(dim=-1)


def same_place(batch: Batch) -> Tensor:
    """(batch, target, source): pieces at the same place are linked, where no texts are there to learn links from."""
    target, source = (batch.sequences(name).mask for name in _SIDES)
    both = target.unsqueeze(-1) & source.unsqueeze(-2)
    return both & torch.eye(*both.shape[1:], dtype=torch.bool, device=both.device)
