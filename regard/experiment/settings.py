"""The settings of a whole run, validated all at once against every table of parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.attention.names import ALIASES, advised, instead, placed, resolve, short, short_row, short_rows, shorts
from regard.config import FieldsOf, OneOrMany, PartOf, plain, write_yaml
from regard.decoders import DecoderChoice
from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.encoders import EncoderChoice
from regard.evaluation import METRICS
from regard.experiment.data import DataSettings, Part
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.models.settings import AttentionSettings, ModelSettings
from regard.objectives import OBJECTIVES, PENALTIES
from regard.registry import Choice, Registry
from regard.tasks import TASKS
from regard.text import TOKENIZERS
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES
from regard.training.settings import TrainingSettings

SETTINGS_FILE = "experiment.yaml"  # in a run folder

Parts = tuple[Choice, ...]
OPEN = ("dropout",)  # a part that is given none of its own takes the model's


def _part(kind: str, table: Registry[Any]) -> PartOf:
    """A part of an attention, which can be given by every name that stands for it alone."""
    return PartOf(table, short=partial(short, kind), aliases=shorts(kind), advice=partial(advised, kind))


def _row(kind: str, table: Registry[Any], advice: Callable[[str], str] | None = None) -> PartOf:
    """A part that has other names in the literature of attention."""
    return PartOf(table, short=partial(short_row, kind), aliases=short_rows(kind), advice=advice)


SOCKET = FieldsOf(
    AttentionSettings,
    ALIASES,
    resolve,
    instead,
    score=Annotated[Choice, _part("score", SCORES)],
    span=Annotated[tuple[Annotated[Choice, _part("span", SPANS)], ...], OneOrMany()],
    weighting=Annotated[Choice, _part("weighting", WEIGHTINGS)],
)
_MODEL = FieldsOf(
    ModelSettings,
    embedder=Annotated[Choice, PartOf(EMBEDDERS, OPEN)],
    position=Annotated[Choice, _row("position", POSITIONS, placed)] | None,
    encoder=EncoderChoice,
    decoder=DecoderChoice,
    attention=Annotated[AttentionSettings, SOCKET],
    self_attention=Annotated[AttentionSettings, SOCKET],
    head=Annotated[Choice, PartOf(HEADS)],
)
_TRAINING = FieldsOf(
    TrainingSettings,
    optimizer=Annotated[Choice, PartOf(OPTIMIZERS)],
    schedule=Annotated[Choice, PartOf(SCHEDULES)],
    schedules=Mapping[str, Annotated[Choice, PartOf(SCHEDULES)]],
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
    batch_tokens: Annotated[int, Ge(1)] = (
        24576  # source pieces worked on at once by a greedy search; a beam takes fewer
    )
    max_source: Annotated[int, Ge(1)] = 1024  # pieces of a text to translate; longer ones are refused


_METRICS = tuple(map(Choice, ("bleu", "chrf", "ter", "exact_match")))


@dataclass(frozen=True)
class EvaluationSettings:
    """What is told of a trained model."""

    metrics: Annotated[tuple[Annotated[Choice, PartOf(METRICS)], ...], OneOrMany()] = _METRICS


@dataclass(frozen=True)
class Experiment:
    """The settings of one run. Complete: what a file left out is written down with its default."""

    data: Annotated[DataSettings, FieldsOf(DataSettings)] = field(default_factory=DataSettings)
    text: Annotated[TextSettings, FieldsOf(TextSettings)] = field(default_factory=TextSettings)
    model: Annotated[ModelSettings, _MODEL] = field(default_factory=ModelSettings)
    objective: Annotated[Choice, PartOf(OBJECTIVES)] = Choice("likelihood")
    # penalties are on where the model looks
    penalties: Annotated[tuple[Annotated[Choice, _row("penalty", PENALTIES)], ...], OneOrMany()] = ()
    training: Annotated[TrainingSettings, _TRAINING] = field(default_factory=TrainingSettings)
    decoding: Annotated[DecodingSettings, FieldsOf(DecodingSettings)] = field(default_factory=DecodingSettings)
    evaluation: Annotated[EvaluationSettings, FieldsOf(EvaluationSettings)] = field(default_factory=EvaluationSettings)
    task: Annotated[Choice, PartOf(TASKS)] = Choice("translation")
    device: str = "auto"  # auto, cpu, cuda, cuda:1 …
    run: Path | None = None  # the folder of the trained model; None: named after the time and the languages
    format: Literal[1] = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Of an example: "source" and "target" for translation, "text" for a language model."""
        task: Any = TASKS[self.task.name]
        return tuple(task.columns)

    def reader(self, part: Part) -> Choice | None:
        """What reads a part of the data, with its files found; None where the settings name none."""
        return self.data.reader(part, self.columns)

    def save(self, path: Path) -> None:
        """To a file that `load_experiment` reads back the same."""
        write_yaml(path, plain(self))
