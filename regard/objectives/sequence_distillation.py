"""A student learns the sentences that its teacher writes (https://aclanthology.org/D16-1139, section 3.2)."""

from regard.config.common_settings import LabelSmoothing
from regard.decoding import BeamSearch
from regard.objectives.candidates import ids_of, need_writer, search_with, with_targets
from regard.objectives.objective import Context, Objective
from regard.objectives.word_distillation import TaughtFraction, TeacherRun
from regard.records import Batch, Loss


class SequenceDistillationObjective(Objective):
    """-(1 - weight) · log p(y | x) - weight · log p(ŷ | x), ŷ what the teacher writes for x.

    It writes by the search of `decoding`; both are label-smoothed. It writes for every batch: where texts are read
    more than a few times, let it translate them once, and train on that with `likelihood`. Raises ConfigError for a
    teacher of other vocabularies, and for models that write no targets.
    """

    aliases = "sequence_level_distillation"
    writes = True

    def __init__(
        self,
        context: Context,
        *,
        teacher: TeacherRun,
        weight: TaughtFraction = 1.0,
        label_smoothing: LabelSmoothing = 0.1,
    ) -> None:
        super().__init__(context)
        need_writer(context, "sequence_distillation")
        self.teachers = (context.teacher(teacher),)  # a tuple, so that it is not a submodule
        self.search = context.search or BeamSearch()
        self.weight, self.label_smoothing = weight, label_smoothing

    def loss(self, batch: Batch, turn: str) -> Loss:
        (teacher,) = self.teachers
        found = search_with(teacher.to(batch.lines.device), self.search, batch)
        taught = with_targets(batch, [[ids_of(best)] for best, *_ in found])
        model, smoothing = self.context.model, self.label_smoothing
        distilled = model.nll(taught, smoothing=smoothing).sum()
        own = model.nll(batch, smoothing=smoothing).sum() if self.weight < 1 else distilled.new_zeros(())
        total = (1 - self.weight) * own + self.weight * distilled
        return Loss(total, batch.count, {"loss": total.detach(), "teacher": distilled.detach()})
