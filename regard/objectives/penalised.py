"""An objective with penalties on attention weights."""

from collections.abc import Iterable, Mapping
from typing import cast

from torch import nn

from regard.attention import Attended, Recorded, Records, Role, recording
from regard.errors import ConfigError
from regard.objectives.objective import MAIN, Objective
from regard.objectives.penalties.penalty import PENALTIES_PLACE, Penalty
from regard.ops.modules import module_dict
from regard.records import Batch, Loss


class PenalisedObjective(Objective):
    """loss + sum_k weight_k · penalty_k. The penalties read the weights of the loss's own forward pass."""

    def __init__(self, objective: Objective, penalties: Mapping[str, Penalty]) -> None:
        objective.context.need_records("penalties")
        if objective.writes:
            problem = (
                "weigh what attention saw of given targets, and this objective also reads targets that are written"
            )
            raise ConfigError(PENALTIES_PLACE, problem, "leave them out, or objective=likelihood")
        super().__init__(objective.context, rewards_samples=True)  # `objective` has reported where it does not
        self.objective, self.penalties = objective, module_dict(penalties)
        for penalty in penalties.values():
            penalty.bind(objective.context)
        self.turns = objective.turns

    @property
    def itself(self) -> Objective:
        return self.objective.itself

    def parameters_of(self, turn: str) -> Iterable[nn.Parameter]:
        return self.objective.parameters_of(turn)

    def halves(self, batch: Batch) -> list[Batch]:
        return self.objective.halves(batch)

    def loss(self, batch: Batch, turn: str) -> Loss:
        """Return the weighted sum; `parts` has each penalty before it is weighted."""
        if turn != MAIN:
            return self.objective.loss(batch, turn)
        records: Records
        with recording(self.context.model, of=self._counts) as records:
            loss = self.objective.loss(batch, turn)
        total, parts = loss.sum, dict(loss.parts)
        if loss.learnt is not None:
            batch, records = loss.learnt, _first(len(loss.learnt.lines), records)
        for name, penalty in self.penalties.items():
            value = penalty(records, batch)
            total, parts[name] = total + penalty.weight * value, value.detach()
        return loss._replace(sum=total, parts=parts)

    def _counts(self, name: str, role: Role) -> bool:
        """Return whether a penalty may count an attention: weights of others are not asked for, which takes time."""
        return any(cast(Penalty, penalty).applies(name, role) for penalty in self.penalties.values())


def _first(rows: int, records: Records) -> dict[str, Recorded]:
    """Return the records of the first rows of a batch alone."""

    def cut(answer: Attended) -> Attended:
        return answer._replace(weights=None if answer.weights is None else answer.weights[:rows])

    return {name: Recorded(role, [cut(answer) for answer in answers]) for name, (role, answers) in records.items()}
