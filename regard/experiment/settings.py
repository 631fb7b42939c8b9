"""The settings of a whole run, validated all at once against every table of parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from regard.config import Doc, FieldsOf, Fixed, OneOrMany, Open, PartOf, Taken, as_values, marked, write_yaml
from regard.config.bounds import Positive, Size
from regard.data.columns import own_name
from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.evaluation import METRICS
from regard.experiment.data import DataSettings
from regard.explain.adequacy import ADEQUACIES
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

    tokenizer: Annotated[Choice, PartOf(TOKENIZERS), Doc("What cuts texts into pieces.")] = Choice("subwords")
    shared: Annotated[bool, Doc("Use one vocabulary for source and target.")] = True
    own_vocabularies: Annotated[
        tuple[str, ...],
        OneOrMany(),
        Doc(
            "Target languages with a vocabulary of their own, learnt from their texts alone; the others share one. "
            "By default, where shared is false, all with a decoder of their own but the first; beside them those "
            "that are added to a run."
        ),
    ] = ()


@dataclass(frozen=True)
class RerankSettings:
    """Another run that chooses among the n best translations: score + weight · log p(target | source) + words · length.

    Weights as `regard tune` finds them (https://aclanthology.org/N04-1021).
    """

    run: Annotated[
        Path,
        Doc(
            "Folder of a translator of the same languages; its vocabulary may be another. A relative path is "
            "looked for in the folder of this run first."
        ),
    ]
    weight: Annotated[float, Doc("Weight of its log-probability of the whole translation.")] = 0.1
    words: Annotated[float, Doc("What each word of the translation adds.")] = 0.0
    n_best: Annotated[Size, Doc("Translations that are ranked anew; a beam gives no more than its size.")] = 50


@dataclass(frozen=True)
class DecodingSettings:
    """How a trained model is searched."""

    search: Annotated[Choice, PartOf(SEARCHES), Doc("How the best answer is looked for.")] = Choice("beam")
    features: Annotated[
        tuple[Annotated[Choice, PartOf(FEATURES)], ...], OneOrMany(), Doc("Scores that the search adds to the model's.")
    ] = ()
    batch_tokens: Annotated[Size, Doc("Source pieces that a greedy search works on at once; a beam takes fewer.")] = (
        8192
    )
    precision: Annotated[
        Literal["float32", "int8"],
        Doc("Numbers that weights are multiplied in: int8 is quicker where the processor knows it, and rounds."),
    ] = "float32"
    route: Annotated[
        str | None, Doc("Which of data.routes a model of several languages takes; null: that of data.train.")
    ] = None
    shortlist: Annotated[
        bool, Doc("Choose among the words that may translate those of the source; first: regard shortlist RUN.")
    ] = False
    tuned: Annotated[
        bool, Doc("Search and features as regard tune left them; what is said of either besides counts more.")
    ] = False
    adequacy: Annotated[
        Annotated[Choice, PartOf(ADEQUACIES)] | None, Doc("What tells words that may be untranslated; null: nothing.")
    ] = None
    max_source: Annotated[Size, Doc("Pieces of the longest text that is accepted.")] = 1024
    ensemble: Annotated[
        tuple[Path, ...],
        OneOrMany(),
        Doc(
            "Folders of other runs of the same vocabularies, to write together with. A relative path is looked for in "
            "the folder of this run first."
        ),
    ] = ()
    ensemble_mean: Annotated[
        Literal["log_probabilities", "probabilities"], Doc("What runs that write together take the mean of.")
    ] = "log_probabilities"
    rerank: Annotated[
        Annotated[RerankSettings, FieldsOf(RerankSettings)] | None,
        Doc("Another run by which the n best translations are ranked anew; null: none."),
    ] = None
    term_cost: Annotated[
        Positive, Doc("Nats a word that the terms of a glossary may cost a translation before a warning tells.")
    ] = 1.0

    def located(self, folder: Path) -> "DecodingSettings":
        """Return the same with other runs looked for in the folder of this one first, so that both can be moved."""
        rerank = self.rerank and replace(self.rerank, run=_inside(folder, self.rerank.run))
        return replace(self, rerank=rerank, ensemble=tuple(_inside(folder, one) for one in self.ensemble))


def _inside(folder: Path, path: Path) -> Path:
    """A relative path in a folder, where it leads to something; else as it is."""
    return folder / path if not path.is_absolute() and (folder / path).exists() else path


_METRICS = tuple(map(Choice, ("bleu", "chrf", "ter", "exact_match")))


@dataclass(frozen=True)
class EvaluationSettings:
    """What is told of a trained model."""

    metrics: Annotated[
        tuple[Annotated[Choice, PartOf(METRICS)], ...],
        OneOrMany(),
        Doc("Scores that are reported, the first one first."),
    ] = _METRICS


@dataclass(frozen=True)
class InitialSettings:
    """Another model to start from, a run or one of Hugging Face's: its tokenizers, and weights of parts of it."""

    run: Annotated[Path | None, Doc("Folder of the run whose weights and vocabularies are taken.")] = None
    huggingface: Annotated[
        Path | None, Doc("Or a folder of a BERT or a RoBERTa: config.json, model.safetensors, tokenizer.json.")
    ] = None
    parts: Annotated[
        tuple[str, ...], OneOrMany(), Doc("Parts that are taken: encoder, decoder, embedder, head …; none named: all.")
    ] = ()
    frozen: Annotated[bool, Doc("Keep what is taken as it is: only what is new learns.")] = False
    vocabularies: Annotated[
        Mapping[str, str],
        Doc("Column of this run → column of the other one whose vocabulary it takes; {}: those of the same name."),
    ] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The one that is given."""
        folder = self.huggingface or self.run
        assert folder is not None  # checked where settings are read
        return folder


@dataclass(frozen=True)
class Experiment:
    """The settings of one run. Complete: what a file left out is written down with its default."""

    data: Annotated[
        DataSettings, FieldsOf(DataSettings), Doc("The texts, a part each to train on, choose by and judge by.")
    ] = field(default_factory=DataSettings)
    text: Annotated[TextSettings, FieldsOf(TextSettings), Doc("How text becomes pieces."), Fixed(), Taken()] = field(
        default_factory=TextSettings
    )
    model: Annotated[
        Choice, PartOf(MODELS), Doc("The network; a task other than translation has its own default."), Taken()
    ] = Choice("translator")
    objective: Annotated[Choice, PartOf(OBJECTIVES), Doc("What training minimises.")] = Choice("likelihood")
    penalties: Annotated[
        tuple[Annotated[Choice, PartOf(PENALTIES)], ...],
        OneOrMany(),
        Doc("What is added to the loss for where the model looks."),
    ] = ()
    training: Annotated[TrainingSettings, _TRAINING, Doc("How and how long the model is trained.")] = field(
        default_factory=TrainingSettings
    )
    decoding: Annotated[
        DecodingSettings,
        FieldsOf(DecodingSettings),
        Doc("How a trained model is searched; free to change later."),
        Open(),
    ] = field(default_factory=DecodingSettings)
    evaluation: Annotated[
        EvaluationSettings,
        FieldsOf(EvaluationSettings),
        Doc("How a trained model is judged; free to change later."),
        Open(),
    ] = field(default_factory=EvaluationSettings)
    task: Annotated[Choice, PartOf(TASKS), Doc("What an example is and what is predicted."), Fixed(), Taken()] = Choice(
        "translation"
    )
    init: Annotated[
        Annotated[InitialSettings, FieldsOf(InitialSettings)] | None,
        Doc("Another model to start from; null: start from random weights."),
        Fixed(),
    ] = None
    device: Annotated[str, Doc("Where it is computed: auto (a GPU if there is one), cpu, cuda, cuda:1 …"), Open()] = (
        "auto"
    )
    run: Annotated[
        Path | None, Doc("Folder of the trained model; null: a name of the time and the languages, in runs/.")
    ] = None
    format: Annotated[Literal[2], Doc("Version of the settings file.")] = 2

    @property
    def columns(self) -> Mapping[str, str]:
        """Of an example, name → row of COLUMNS: "source" and "target" for translation, "text" for a language model."""
        return dict(self.task_class.columns)

    @property
    def vocabularies(self) -> Mapping[str, str]:
        """Of a run: its columns, and what languages have of their own, as "target-fr"; name → row of COLUMNS."""
        last, kind = [*self.columns.items()][-1]
        return {**self.columns, **{own_name(last, language): kind for language in self.text.own_vocabularies}}

    @property
    def task_class(self) -> type[Task]:
        """The row of TASKS."""
        return task_class(self.task.name)

    def reader(self, part: str) -> Choice | None:
        """What reads a part of the data, with its files found; None where the settings name none."""
        return self.data.readers().get(part)

    def along(self, route: str) -> "Experiment":
        """The settings of one route alone: its data, in its languages. Raises ConfigError for a name of none."""
        return replace(self, data=self.data.along(route), decoding=replace(self.decoding, route=route))

    def views(self) -> "dict[str, Experiment]":
        """The settings of each route by its name; those of data.train come first, as "train"."""
        return {"train": self, **{name: self.along(name) for name in self.data.routes}}

    def save(self, path: Path) -> None:
        """To a file that `load_experiment` reads back the same."""
        write_yaml(path, as_values(self))


OPEN = marked(Experiment, Open)
