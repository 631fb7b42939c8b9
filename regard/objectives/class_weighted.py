"""Likelihood with a weight for each class, for labels of which some are rare."""

from collections.abc import Mapping
from typing import Annotated, cast

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Positive
from regard.config.common_settings import LabelSmoothing
from regard.data.columns.label import LabelColumn
from regard.errors import PartError, nearest
from regard.models import LabelModel
from regard.objectives.objective import Context, Objective
from regard.records import Batch, Loss


class ClassWeightedObjective(Objective):
    """-sum w(label) · log p(label | text), label-smoothed as torch's weighted cross entropy.

    Balanced: w(c) = N / (K · N_c) for K classes of which class c has N_c of the N examples that the labels were learnt
    from, so that each class weighs as much as any other and examples weigh 1 in the mean. The sum is divided by the
    number of examples, as without weights.
    """

    aliases = "weighted_cross_entropy, class_weights, balanced"

    weights: Tensor

    def __init__(
        self,
        context: Context,
        *,
        class_weights: Annotated[
            Mapping[str, Positive] | None,
            Doc("Class weights by label, 1 if not named; null: balanced (inverse frequency)."),
        ] = None,
        label_smoothing: LabelSmoothing = 0.0,
    ) -> None:
        super().__init__(context)
        model = context.model
        if not isinstance(model, LabelModel) or not model.chooses_one:
            raise PartError("needs a model that chooses one class", "objective=likelihood")
        self.model = (model,)  # a tuple, so that it is not a submodule
        self.label_smoothing = label_smoothing
        column = cast(LabelColumn, context.task.vocabularies[model.label])
        weights = balanced(column) if class_weights is None else weights_by_label(column, class_weights)
        self.register_buffer("weights", weights, persistent=False)

    def loss(self, batch: Batch, turn: str) -> Loss:
        (model,) = self.model
        log_probs = model.log_probs(batch)
        labels = torch.as_tensor(batch.columns[model.label])
        weights = self.weights.to(log_probs)
        own = weights[labels] * log_probs.gather(1, labels.unsqueeze(1)).squeeze(1)
        even = (log_probs * weights).mean(dim=-1)
        total = -((1 - self.label_smoothing) * own + self.label_smoothing * even).sum()
        return Loss(total, batch.count, {"loss": total.detach()})


def balanced(column: LabelColumn) -> Tensor:
    """(class): N / (K · N_c). Raises PartError where labels were not counted, as in runs of older versions."""
    if column.counts is None:
        problem = "is balanced, and the labels of this run were not counted when they were learnt"
        raise PartError(problem, "a weight for each label", setting="class_weights")
    counts = torch.tensor(column.counts, dtype=torch.float64)
    return counts.sum() / (len(counts) * counts)


def weights_by_label(column: LabelColumn, weights: Mapping[str, float]) -> Tensor:
    """(class): those that are given, else 1. Raises PartError for a label that there is not, except in a rehearsal."""
    for label in weights:
        if label not in column.labels and not column.stands_in:
            problem = f"names the label '{label:.60}', which training has not seen"
            raise PartError(problem, nearest(label, column.labels), setting="class_weights")
    return torch.tensor([float(weights.get(label, 1.0)) for label in column.labels], dtype=torch.float64)
