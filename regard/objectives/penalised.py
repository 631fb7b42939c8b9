"""An objective with penalties on where the model looks."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Attended, recording
from regard.objectives.looking import Records
from regard.objectives.objective import Objective
from regard.objectives.penalties.penalty import Penalty
from regard.ops.modules import module_dict
from regard.records import Batch, Loss, select

PENALISED = "model"  # the only turn in which what the model looks at can be changed


class PenalisedObjective(Objective):
    """loss + sum_k weight_k · penalty_k. The penalties read what one and the same forward pass looked at."""

    records = True

    def __init__(self, objective: Objective, penalties: Mapping[str, Penalty]) -> None:
        super().__init__()
        self.objective, self.penalties = objective, module_dict(penalties)
        self.turns = objective.turns

    @property
    def itself(self) -> Objective:
        """The objective without its penalties."""
        return self.objective.itself

    def parameters_of(self, model: nn.Module, turn: str) -> Iterable[nn.Parameter]:
        """As of the objective."""
        return self.objective.parameters_of(model, turn)

    def loss(self, model: Any, batch: Batch, turn: str) -> Loss:
        """The parts tell each penalty before it is weighted."""
        if turn != PENALISED:
            return self.objective.loss(model, batch, turn)
        with recording(model) as records:
            loss = self.objective.loss(model, batch, turn)
        total, parts = loss.sum, dict(loss.parts)
        rows = self.objective.rows(batch)
        seen, shown = (records, batch) if rows == len(batch.lines) else _first(rows, records, batch)
        for name, penalty in self.penalties.items():
            value = penalty(seen, shown)
            total, parts[name] = total + penalty.weight * value, value.detach()
        return loss._replace(sum=total, parts=parts)


def _first(rows: int, records: Records, batch: Batch) -> tuple[Records, Batch]:
    """What was looked at in the first rows of a batch alone, and these."""

    def cut(answer: Attended) -> Attended:
        return answer._replace(weights=None if answer.weights is None else answer.weights[:rows])

    columns = {}
    for name, column in batch.columns.items():
        items = column if isinstance(column, Tensor) else column.items
        columns[name] = select(column, torch.arange(rows, device=items.device))
    seen = {name: [cut(answer) for answer in answers] for name, answers in records.items()}
    return seen, batch._replace(columns=columns, lines=batch.lines[:rows])
