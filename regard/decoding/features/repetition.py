"""A penalty for saying something twice; `no_repeat` forbids it."""

from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat, Size
from regard.decoding.features.feature import Feature
from regard.decoding.features.no_repeat import Written
from regard.records import Batch, Step


class RepetitionFeature(Feature):
    """-`weight` · number of n-grams of `size` pieces that stood in the target before."""

    name = "repetition"
    weight: float

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Penalty per repeated n-gram, in nats.")] = 0.1,
        size: Annotated[Size, Doc("N-gram length.")] = 2,
    ) -> None:
        self.weight, self.size = weight, size

    def start(self, batch: Batch) -> Written:
        return Written([[] for _ in batch.lines])

    def step(self, step: Step, ids: Tensor, state: Written) -> tuple[Tensor, Written]:
        state = state.extended(ids)
        added = torch.zeros_like(step.log_probs)
        found = [(row, piece) for row, repeats in enumerate(state.repeats(self.size)) for piece in repeats]
        if found:
            rows, pieces = torch.tensor(found, device=added.device).unbind(dim=-1)
            added[rows, pieces] = -self.weight
        return added, state
