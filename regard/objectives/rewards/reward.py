"""The contract of rewards: what a written target is worth."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated

from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.objectives.candidates import TargetIds
from regard.objectives.objective import OBJECTIVE_PLACE, Context
from regard.records import Batch

REWARDS_PLACE = f"{OBJECTIVE_PLACE}.rewards"  # in a config
RewardWeight = Annotated[AnyFloat, Doc("Weight of the reward; the metric has weight 1.")]


class Reward(ABC):
    """A number for each written target, the higher the better. A row of REWARDS, built with (context,)."""

    def __init__(self, context: Context, weight: float) -> None:
        self.context, self.weight = context, weight

    @abstractmethod
    def __call__(self, targets: Sequence[Sequence[TargetIds]], batch: Batch) -> Tensor:
        """Several targets of each row of a batch → what each is worth (all of them,), row by row, between 0 and 1."""
