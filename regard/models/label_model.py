"""The contract of models that choose one label of a closed set."""

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from regard.models.model import Model
from regard.records import Batch


class LabelModel(Model):
    """p(label | the columns before it). `label` is the column that it chooses."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label

    @abstractmethod
    def log_probs(self, batch: Batch) -> Tensor:
        """Return log-probabilities (batch, class)."""

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return losses (batch, 1) in nats."""
        log_probs, labels = self.log_probs(batch), batch.columns[self.label]
        losses = functional.nll_loss(log_probs, torch.as_tensor(labels), reduction="none")
        return ((1 - smoothing) * losses - smoothing * log_probs.mean(dim=-1)).unsqueeze(-1)

    def counted(self, batch: Batch) -> Tensor:
        """Return (batch, 1): every example counts once."""
        return torch.ones_like(batch.lines, dtype=torch.bool).unsqueeze(-1)
