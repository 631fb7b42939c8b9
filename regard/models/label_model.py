"""The contract of models that predict one label of a closed set."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import EACH, Attended, Recorded, Records, Role, fitting, recording
from regard.data.columns import Columns
from regard.layers.by_sentence import Sentences
from regard.layers.pooling import Pooling
from regard.models.model import Distributions, Model
from regard.models.number_model import refuse_smoothing
from regard.records import LABEL, ONE_NUMBER, Batch
from regard.text.label_sets import SEVERAL_LABELS

POOLED = "pooling"  # the record of the attention of the only state that is read


class AttentionRecords(NamedTuple):
    """Attention weights of a model, in the places of the columns that its roles name."""

    records: Records
    units: Mapping[str, Sentences] = MappingProxyType({})  # columns that the model makes of its first one, by name


class LabelOutput(ABC):
    """Meaning of the numbers of the last layer, and their loss. Keeps nothing."""

    @abstractmethod
    def of_scores(self, scores: Tensor) -> Tensor:
        """Scores (batch, n) of the last layer → the result of `LabelModel.log_probs`."""

    @abstractmethod
    def nll(self, found: Tensor, reference: Tensor, smoothing: float) -> Tensor:
        """Return losses (batch, item) in nats of `found`, which `of_scores` returned."""

    def explained(self, found: Tensor, reference: Tensor) -> Tensor:
        """Return the explained values (batch, item) of `found`, which `of_scores` returned."""
        return -self.nll(found, reference, 0.0)


class OneLabel(LabelOutput):
    """softmax(scores); the loss is the cross entropy."""

    def of_scores(self, scores: Tensor) -> Tensor:
        return scores.log_softmax(dim=-1)

    def nll(self, found: Tensor, reference: Tensor, smoothing: float) -> Tensor:
        """found (batch, class), reference (batch,) → (batch, 1)."""
        losses = functional.nll_loss(found, reference, reduction="none")
        return ((1 - smoothing) * losses - smoothing * found.mean(dim=-1)).unsqueeze(-1)


class SeveralLabels(LabelOutput):
    """sigmoid(score) of each label by itself; the loss is the binary cross entropy, smoothed towards 0.5."""

    def of_scores(self, scores: Tensor) -> Tensor:
        """Log-odds, which are as exact for labels that are nearly sure."""
        return scores

    def nll(self, found: Tensor, reference: Tensor, smoothing: float) -> Tensor:
        """found (batch, label), reference (batch, label) of 0 and 1 → (batch, label)."""
        wanted = reference.to(found) * (1 - smoothing) + 0.5 * smoothing
        return functional.binary_cross_entropy_with_logits(found, wanted, reduction="none")


class OneNumber(LabelOutput):
    """The score is the number, standardised; the loss is the squared error."""

    def of_scores(self, scores: Tensor) -> Tensor:
        return scores

    def nll(self, found: Tensor, reference: Tensor, smoothing: float) -> Tensor:
        """found (batch, 1), reference (batch,) → (batch, 1)."""
        refuse_smoothing(smoothing)
        return (found - reference.to(found).unsqueeze(-1)).square()

    def explained(self, found: Tensor, reference: Tensor) -> Tensor:
        """Return the number: its error says nothing of words."""
        return found


OUTPUTS: Mapping[str, LabelOutput] = MappingProxyType(
    {LABEL: OneLabel(), SEVERAL_LABELS: SeveralLabels(), ONE_NUMBER: OneNumber()}
)  # by the predicted column


def num_outputs(columns: Columns) -> int:
    """Return the width of the last layer: classes, labels, or 1 of a number."""
    return columns[_predicted(columns)].num_values


def _predicted(columns: Columns) -> str:
    return next(name for name in OUTPUTS if name in columns)


class LabelModel(Model):
    """p(label | the columns before it). `label` is the predicted column: one label, several, or a number."""

    output: LabelOutput = OUTPUTS[LABEL]
    dropout: nn.Module  # of the features of the output layer
    to_class: nn.Linear

    def __init__(self, label: str, *, beyond: int = 0) -> None:
        """`beyond`: columns after those of the words that its maps may have, which are never shown."""
        super().__init__()
        self.label, self.beyond = label, beyond

    def predicting(self, columns: Columns) -> Self:
        """Predict the column among them that is a label, labels or a number."""
        self.label = _predicted(columns)
        self.output = OUTPUTS[self.label]
        return self

    @property
    def chooses_one(self) -> bool:
        """Return whether an answer is one label."""
        return self.output is OUTPUTS[LABEL]

    @abstractmethod
    def log_probs(self, batch: Batch) -> Tensor:
        """Return log-probabilities (batch, class); of several labels their log-odds, of a number (batch, 1) itself."""

    def classes(self, features: Tensor) -> Tensor:
        """Vectors (batch, dim) → log-probabilities (batch, class), or as `log_probs` has it."""
        return self.output.of_scores(self.to_class(self.dropout(features)))

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
        return self.output.nll(self.log_probs(batch), torch.as_tensor(batch.columns[self.label]), smoothing)

    def explained(self, batch: Batch) -> Tensor:
        return self.output.explained(self.log_probs(batch), torch.as_tensor(batch.columns[self.label]))

    def distributions(self, batch: Batch) -> Distributions:
        if not self.chooses_one:
            return super().distributions(batch)
        return Distributions(self.log_probs(batch), torch.as_tensor(batch.columns[self.label]))

    def counted(self, batch: Batch) -> Tensor:
        reference = torch.as_tensor(batch.columns[self.label])
        return torch.ones_like(reference.view(len(reference), -1), dtype=torch.bool)


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
