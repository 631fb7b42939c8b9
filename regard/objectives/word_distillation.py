"""A student learns what its teacher finds likely, word by word (https://aclanthology.org/D16-1139, section 3.1)."""

from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Positive, Ratio
from regard.config.common_settings import LabelSmoothing
from regard.objectives.objective import Context, Objective
from regard.records import Batch, Loss

TeacherRun = Annotated[Path, Doc("Folder of the teacher's run; its vocabularies must be the same.")]
TaughtFraction = Annotated[Ratio, Doc("Weight of the teacher's distribution; the references have the rest.")]


class WordDistillationObjective(Objective):
    """(1 - weight) · L + weight · τ² · Σ_v -q(v) log p(v), q and p the softmax of logits / τ of teacher and student.

    L is the label-smoothed loss of `likelihood`. The teacher reads the given words before each word, and its weights
    are neither trained nor saved. Raises ConfigError for a teacher of other vocabularies, and for models that
    do not give the probabilities of all choices.
    """

    aliases = "knowledge_distillation, word_level_distillation, distillation"

    def __init__(
        self,
        context: Context,
        *,
        teacher: TeacherRun,
        weight: TaughtFraction = 0.5,
        temperature: Annotated[Positive, Doc("Distillation temperature: above 1 flattens the teacher.")] = 1.0,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        self.teachers = (context.teacher(teacher),)  # a tuple, so that it is not a submodule
        self.weight, self.temperature, self.label_smoothing = weight, temperature, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        student = self.context.model.distributions(batch)
        (teacher,) = self.teachers
        with torch.no_grad():
            taught = self._softened(teacher.to(batch.lines.device).distributions(batch).scores)
        own = student.nll(self.label_smoothing).sum()
        cross = -(self.temperature**2) * (taught.exp() * self._softened(student.scores)).sum()
        total = (1 - self.weight) * own + self.weight * cross
        return Loss(total, batch.count, {"loss": own.detach(), "teacher": cross.detach()})

    def _softened(self, scores: Tensor) -> Tensor:
        """Scores → log-probabilities at the temperature."""
        return (scores / self.temperature).log_softmax(dim=-1)
