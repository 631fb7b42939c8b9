"""Coherence: does a sentence fit into its text? A teacher scores it, as in https://aclanthology.org/N18-1016."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.data.columns import TextColumn
from regard.errors import ConfigError, PartError, nearest
from regard.objectives.candidates import TargetIds, target_text, targets_of
from regard.objectives.objective import Context
from regard.objectives.rewards.reward import REWARDS_PLACE, Reward, RewardWeight
from regard.records import DOCUMENT, TARGET, Batch


class CoherenceReward(Reward):
    """p(label | text), the text being the given one with the written sentence in its place.

    The teacher is a classifier that distinguishes texts from their sentences in another order. The text of a row
    is what its batch has of it: batches are made by document. Raises ConfigError for tasks that read single sentences,
    and for a label that the teacher does not know.
    """

    aliases = "discourse, sentence_order_reward"

    def __init__(
        self,
        context: Context,
        *,
        teacher: Annotated[Path, Doc("Folder of a text classification run.")],
        label: Annotated[str, Doc("Label of coherent texts.")] = "original",
        weight: RewardWeight = 1.0,
    ) -> None:
        super().__init__(context, weight)
        if DOCUMENT not in context.task.vocabularies:
            raise PartError(
                "'coherence' is of texts, and this task reads single sentences",
                "task=deliberation",
            )
        self.column: TextColumn = context.task.vocabularies[TARGET]
        self.judge, self.label = context.classifier(teacher), label

    def __call__(self, targets: Sequence[Sequence[TargetIds]], batch: Batch) -> Tensor:
        given = [target_text(self.column, one) for one in targets_of(batch)]
        texts = [
            " ".join(target_text(self.column, one) if mate == row else given[mate] for mate in mates)
            for row, (some, mates) in enumerate(zip(targets, rows_by_text(batch), strict=True))
            for one in some
        ]
        distinct = list(dict.fromkeys(texts))
        found = dict(zip(distinct, self.judge(distinct), strict=True))
        return self.weight * torch.tensor([self._share(found[text]) for text in texts])

    def _share(self, probabilities: Mapping[str, float]) -> float:
        if self.label not in probabilities:
            problem = f"the teacher knows no '{self.label}'"
            raise ConfigError(f"{REWARDS_PLACE}.label", problem, nearest(self.label, probabilities))
        return probabilities[self.label]


def rows_by_text(batch: Batch) -> list[list[int]]:
    """Return for each row the rows of its text, in the order of the lines, itself among them."""
    documents = [tuple(ids[mask].tolist()) for ids, mask in zip(*batch.sequences(DOCUMENT), strict=True)]
    rows = dict[tuple[int, ...], list[int]]()
    for row in batch.lines.argsort().tolist():
        rows.setdefault(documents[row], []).append(row)
    return [rows[document] for document in documents]
