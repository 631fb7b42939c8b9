"""A penalty for source words with little attention (https://arxiv.org/abs/1609.08144, equation 14)."""

from typing import Annotated, NamedTuple

import torch
from annotated_types import Gt, Le
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.feature import Feature
from regard.records import Batch, Step


class CoverageState(NamedTuple):
    """Summed attention of each source word."""

    sums: Tensor  # (rows, source)
    mask: Tensor  # (rows, source)

    def select(self, rows: Tensor) -> "CoverageState":
        """Rows in that order."""
        return CoverageState(self.sums[rows], self.mask[rows])


class CoverageFeature(Feature):
    """cp = `weight` · sum over the source of log min(sum over the target of the weights, 1), added at the end.

    The paper's weight of 0.2 is for scores that hardly shrink with length (`normalisation: gnmt, length_penalty: 0.2`).
    Beside a mean over the words it outweighs the model, which then says things twice: there take about 0.02.
    """

    name = "coverage"
    weight: float
    needs_weights = True

    def __init__(
        self,
        *,
        weight: Annotated[AnyFloat, Doc("Weight of the coverage penalty; about 0.02 with a mean over pieces.")] = 0.2,
        min_attention: Annotated[float, Gt(0), Le(1), Doc("Floor of the attention summed over a source piece.")] = 0.01,
    ) -> None:
        self.weight = weight
        self.min_attention = min_attention  # what a word without attention counts as: log 0 would forbid it

    def start(self, batch: Batch) -> CoverageState:
        mask = batch.sequences("source").mask
        return CoverageState(torch.zeros(mask.shape, device=mask.device), mask)

    def step(self, step: Step, ids: Tensor, state: CoverageState) -> tuple[Tensor, CoverageState]:
        """Adds up the weights; scores of words are left alone."""
        nothing = step.log_probs.new_zeros(1, 1)
        if step.weights is None:
            return nothing, state
        return nothing, state._replace(sums=state.sums + step.weights.float())

    def finish(self, state: CoverageState) -> Tensor:
        """(rows,) what was left out."""
        shares = state.sums.clamp(min=self.min_attention, max=1.0).log().masked_fill(~state.mask, 0.0)
        return self.weight * shares.sum(dim=-1)
