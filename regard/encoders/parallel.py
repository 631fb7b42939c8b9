"""Encoders beside each other: each kind of layer sees what the others do not."""

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Sockets
from regard.config.common_settings import DropoutProbability
from regard.encoders.encoder import Encoder
from regard.encoders.table import ENCODERS, EncoderChoices
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences
from regard.registry import Choice


class ParallelEncoder(Encoder):
    """[E_1(x); E_2(x); …]: the states of all, side by side, and so `final` and what is read in place of the states.

    One that unfolds makes the others longer. Behind its own end an encoder's states are zero.
    """

    aliases = "beside, branches, concatenate"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        encoders: EncoderChoices = (Choice("convolutional"), Choice("recurrent"), Choice("self_attention")),
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        given = {"dropout": dropout}
        branches = (
            ENCODERS.build(choice, input_dim, sockets, given=given, place=f"encoders.{number}")
            for number, choice in enumerate(encoders)
        )
        self.branches = module_list(branches)
        self.dim = sum(branch.dim for branch in self.branches)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, longest of all, dim), final (batch, dim)."""
        seen: list[Encoded] = [branch(source) for branch in self.branches]
        width = max(one.mask.shape[1] for one in seen)
        mask = _widened(seen[0].mask, width)
        for one, other in pairwise(seen):
            if other.mask is not one.mask:
                mask = mask | _widened(other.mask, width)
        states, final = _beside([one.states for one in seen], width), torch.cat([one.final for one in seen], dim=-1)
        if all(one.values is None for one in seen):
            return Encoded(states, mask, final)
        return Encoded(states, mask, final, _beside([one.read for one in seen], width))


def _beside(parts: list[Tensor], width: int) -> Tensor:
    """Each (batch, source, its dim) → (batch, width, dim of all)."""
    return torch.cat([functional.pad(part, (0, 0, 0, width - part.shape[1])) for part in parts], dim=-1)


def _widened(mask: Tensor, width: int) -> Tensor:
    return functional.pad(mask, (0, width - mask.shape[1]))
