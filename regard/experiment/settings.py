"""The settings of a whole run, validated all at once against every table of parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from regard.config import FieldsOf, OneOrMany, PartOf, as_values, write_yaml
from regard.config.bounds import Size
from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.evaluation import METRICS
from regard.experiment.data import DataSettings
from regard.models import MODELS
from regard.objectives import OBJECTIVES, PENALTIES
from regard.registry import Choice
from regard.tasks import TASKS, Task, task_class
from regard.text import TOKENIZERS
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES
from regard.training.settings import TrainingSettings, TurnSettings

_TURN = FieldsOf(
    TurnSettings,
    optimizer=Annotated[Choice, PartOf(OPTIMIZERS)] | None,
    schedule=Annotated[Choice, PartOf(SCHEDULES)] | None,
)
OPEN = ("decoding", "device", "evaluation")  # groups that a trained model leaves open

_TRAINING = FieldsOf(
    TrainingSettings,
    optimizer=Annotated[Choice, PartOf(OPTIMIZERS)],
    schedule=Annotated[Choice, PartOf(SCHEDULES)],
    schedules=Mapping[str, Annotated[Choice, PartOf(SCHEDULES)]],
    turns=Mapping[str, Annotated[TurnSettings, _TURN]],
)


@dataclass(frozen=True)
class TextSettings:
    """How text becomes pieces."""

    tokenizer: Annotated[Choice, PartOf(TOKENIZERS)] = Choice("subwords")
    shared: bool = True  # one vocabulary for both sides


@dataclass(frozen=True)
class DecodingSettings:
    """How a trained model is searched."""

    search: Annotated[Choice, PartOf(SEARCHES)] = Choice("beam")
    features: Annotated[tuple[Annotated[Choice, PartOf(FEATURES)], ...], OneOrMany()] = ()
    batch_tokens: Size = 24576  # source pieces worked on at once by a greedy search; a beam takes fewer
    max_source: Size = 1024  # pieces of a text to translate; longer ones are refused


_METRICS = tuple(map(Choice, ("bleu", "chrf", "ter", "exact_match")))


@dataclass(frozen=True)
class EvaluationSettings:
    """What is told of a trained model."""

    metrics: Annotated[tuple[Annotated[Choice, PartOf(METRICS)], ...], OneOrMany()] = _METRICS


@dataclass(frozen=True)
class InitialSettings:
    """Another run to start from: its tokenizers, and the weights of all or some parts of its model."""

    run: Path
    parts: Annotated[tuple[str, ...], OneOrMany()] = ()  # encoder, decoder, embedder, head …; none named: all


@dataclass(frozen=True)
class Experiment:
    """The settings of one run. Complete: what a file left out is written down with its default."""

    data: Annotated[DataSettings, FieldsOf(DataSettings)] = field(default_factory=DataSettings)
    text: Annotated[TextSettings, FieldsOf(TextSettings)] = field(default_factory=TextSettings)
    model: Annotated[Choice, PartOf(MODELS)] = Choice("translator")  # unless the task names another
    objective: Annotated[Choice, PartOf(OBJECTIVES)] = Choice("likelihood")
    # penalties are on where the model looks
    penalties: Annotated[tuple[Annotated[Choice, PartOf(PENALTIES)], ...], OneOrMany()] = ()
    training: Annotated[TrainingSettings, _TRAINING] = field(default_factory=TrainingSettings)
    decoding: Annotated[DecodingSettings, FieldsOf(DecodingSettings)] = field(default_factory=DecodingSettings)
    evaluation: Annotated[EvaluationSettings, FieldsOf(EvaluationSettings)] = field(default_factory=EvaluationSettings)
    task: Annotated[Choice, PartOf(TASKS)] = Choice("translation")
    init: Annotated[InitialSettings, FieldsOf(InitialSettings)] | None = None
    device: str = "auto"  # auto, cpu, cuda, cuda:1 …
    run: Path | None = None  # the folder of the trained model; None: named after the time and the languages
    format: Literal[2] = 2

    @property
    def columns(self) -> Mapping[str, str]:
        """Of an example, name → row of COLUMNS: "source" and "target" for translation, "text" for a language model."""
        return dict(self.task_class.columns)

    @property
    def task_class(self) -> type[Task]:
        """The row of TASKS."""
        return task_class(self.task.name)

    def reader(self, part: str) -> Choice | None:
        """What reads a part of the data, with its files found; None where the settings name none."""
        return self.data.readers().get(part)

    def save(self, path: Path) -> None:
        """To a file that `load_experiment` reads back the same."""
        write_yaml(path, as_values(self))
