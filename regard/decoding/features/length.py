"""A reward for every word (He et al. 2016, https://ojs.aaai.org/index.php/AAAI/article/view/9983)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.decoding.features.feature import Feature
from regard.records import EOS, Batch, Step


class LengthFeature(Feature):
    """`weight` nats for each word but EOS: above 0 longer targets win, below 0 shorter ones."""

    aliases = "length_reward, 长度奖励"

    name = "length"
    weight: float

    def __init__(self, *, weight: Annotated[AnyFloat, Doc("Word reward, in nats per piece.")] = 0.5) -> None:
        self.weight = weight

    @property
    def rewards(self) -> bool:
        return self.weight > 0

    def start(self, batch: Batch) -> "_Nothing":
        return _Nothing()

    def step(self, step: Step, ids: Tensor, state: "_Nothing") -> tuple[Tensor, "_Nothing"]:
        """(1, vocab): the same for every row."""
        added = torch.full_like(step.log_probs[:1], self.weight)
        added[:, EOS] = 0.0
        return added, state


class _Nothing:
    def select(self, rows: Tensor) -> "_Nothing":
        return self
