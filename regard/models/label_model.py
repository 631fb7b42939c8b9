"""The contract of models that predict one label of a closed set."""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import EACH, Attended, Recorded, Records, Role, fitting, recording
from regard.layers.by_sentence import Sentences
from regard.layers.pooling import Pooling
from regard.models.model import Distributions, Model
from regard.records import Batch

POOLED = "pooling"  # the record of the attention of the only state that is read


class AttentionRecords(NamedTuple):
    """Attention weights of a model, in the places of the columns that its roles name."""

    records: Records
    units: Mapping[str, Sentences] = MappingProxyType({})  # columns that the model makes of its first one, by name


class LabelModel(Model):
    """p(label | the columns before it). `label` is the predicted column."""

    dropout: nn.Module  # of the features of the output layer
    to_class: nn.Linear

    def __init__(self, label: str, *, beyond: int = 0) -> None:
        """`beyond`: columns after those of the words that its maps may have, which are never shown."""
        super().__init__()
        self.label, self.beyond = label, beyond

    @abstractmethod
    def log_probs(self, batch: Batch) -> Tensor:
        """Return log-probabilities (batch, class)."""

    def classes(self, features: Tensor) -> Tensor:
        """Vectors (batch, dim) → log-probabilities (batch, class)."""
        scores: Tensor = self.to_class(self.dropout(features))
        return scores.log_softmax(dim=-1)

    def attention_records(self, batch: Batch) -> AttentionRecords:
        """Return all attention weights of a batch, except those over states that are not one per piece."""
        with recording(self) as records:
            self.log_probs(batch)
        widest = {
            name: batch.sequences(name).mask.shape[1] + self.beyond for name in batch.columns if name != self.label
        }
        widest |= {name: max(widest.values()) for name in (*widest, EACH)}  # texts may be read as one batch
        return AttentionRecords(fitting(records, widest))

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        log_probs, labels = self.log_probs(batch), batch.columns[self.label]
        losses = functional.nll_loss(log_probs, torch.as_tensor(labels), reduction="none")
        return ((1 - smoothing) * losses - smoothing * log_probs.mean(dim=-1)).unsqueeze(-1)

    def distributions(self, batch: Batch) -> Distributions:
        return Distributions(self.log_probs(batch), torch.as_tensor(batch.columns[self.label]))

    def counted(self, batch: Batch) -> Tensor:
        return torch.ones_like(batch.lines, dtype=torch.bool).unsqueeze(-1)


def with_state_read(records: Records, pooling: Pooling, column: str, mask: Tensor) -> Records:
    """Add the weights of the only state that a pooling reads, from the last self-attention of a column.

    So a pooling without attention of its own has an explanation. mask (batch, n) is the column's.
    """
    places, square = pooling.place(mask), (mask.shape[1],) * 2
    own = [
        one.answers[0].weights
        for one in records.values()
        if one.role.queries == one.role.keys == column and not one.role.reversed and len(one.answers) == 1
    ]
    seen = [weights for weights in own if weights is not None and weights.shape[-2:] == square]
    if places is None or not seen:
        return records
    return {**records, POOLED: pooled_record(column, rows_at(seen[-1], places))}


def pooled_record(column: str, weights: Tensor) -> Recorded:
    """Return the record of a pooling of a column, given weights (batch, [head,] 1, key) of an extra state."""
    return Recorded(Role(None, column), [Attended(weights.new_zeros(0), weights, (), {})])


def rows_at(weights: Tensor, places: Tensor) -> Tensor:
    """Select the query at places (batch,): (batch, [head,] query, key) → (batch, [head,] 1, key)."""
    index = places.view(-1, *[1] * (weights.dim() - 1)).expand(*weights.shape[:-2], 1, weights.shape[-1])
    return weights.gather(-2, index)
