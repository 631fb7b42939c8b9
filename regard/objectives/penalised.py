"""An objective with penalties on where the model looks."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from regard.attention import recording
from regard.modules import module_dict
from regard.objectives.objective import Objective
from regard.objectives.penalties.penalty import Penalty
from regard.records import Batch, Loss

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
        for name, penalty in self.penalties.items():
            value = penalty(records, batch)
            total, parts[name] = total + penalty.weight * value, value.detach()
        return loss._replace(sum=total, parts=parts)
