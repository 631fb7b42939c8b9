"""The settings of a whole run, validated all at once against every table of parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le

from regard.config import Doc, FieldsOf, Fixed, OneOrMany, PartOf, Taken, as_values, marked, write_yaml
from regard.config.bounds import Count, Positive, Ratio, Size
from regard.config.descriptions import Open
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
    """Tokenization and vocabularies."""

    tokenizer: Annotated[Choice, PartOf(TOKENIZERS), Doc("Tokenizer.")] = Choice("subwords")
    shared: Annotated[bool, Doc("Share one vocabulary between source and target.")] = True
    joint: Annotated[
        bool, Doc("Joint vocabulary: tokenizers of source and target number their pieces alike, as in OPUS-MT.")
    ] = False
    own_vocabularies: Annotated[
        tuple[str, ...],
        OneOrMany(),
        Doc(
            "Target languages with their own vocabulary, learned from their text alone. Default with "
            "shared=false: all with their own decoder but the first; languages added to a run always."
        ),
    ] = ()

    @property
    def one_vocabulary(self) -> bool:
        """Return whether ids of source and target stand for the same pieces."""
        return self.shared or self.joint


@dataclass(frozen=True)
class RerankSettings:
    """Reranking of the n-best list by another run: score + weight · log p(target | source) + words · length.

    `regard tune` finds the weights (https://aclanthology.org/N04-1021).
    """

    run: Annotated[
        Path,
        Doc(
            "Folder of a translator of the same languages; vocabularies may differ; relative to this "
            "run's folder first."
        ),
    ]
    weight: Annotated[float, Doc("Weight of its log-probability of the translation.")] = 0.1
    words: Annotated[float, Doc("Word reward: score added per word of the translation.")] = 0.0
    n_best: Annotated[Size, Doc("Number of n-best candidates to rerank; at most the beam size.")] = 50


@dataclass(frozen=True)
class ConsensusSettings:
    """Consensus decoding (minimum Bayes risk): the candidate that is most like all candidates, by sentence BLEU.

    Candidates are the n best of this run and of others; each counts by its rank (https://aclanthology.org/N04-1022).
    """

    runs: Annotated[
        tuple[Path, ...],
        OneOrMany(),
        Doc(
            "Folders of other translators of the same languages, of any kind; relative to this run's folder first. "
            "Without any, all candidates are of this run."
        ),
    ] = ()
    weight: Annotated[Positive, Doc("Weight of the candidates of each other run, beside 1 for this run.")] = 0.5
    n_best: Annotated[
        Annotated[int, Ge(2), Le(200)], Doc("Number of candidates of each run, whose beams are as wide.")
    ] = 20


@dataclass(frozen=True)
class DecodingSettings:
    """Decoding of a trained model."""

    search: Annotated[Choice, PartOf(SEARCHES), Doc("Search algorithm.")] = Choice("beam")
    features: Annotated[
        tuple[Annotated[Choice, PartOf(FEATURES)], ...], OneOrMany(), Doc("Additional log-linear scores in the search.")
    ] = ()
    batch_tokens: Annotated[Size, Doc("Batch size of greedy search, in source pieces; beam search uses less.")] = 8192
    precision: Annotated[
        Literal["float32", "int8"],
        Doc("Precision of matrix products: int8 is faster on processors that support it, and rounds."),
    ] = "float32"
    route: Annotated[str | None, Doc("Language pair of data.routes to translate; null: the pair of data.train.")] = None
    shortlist: Annotated[
        bool, Doc("Lexical shortlist: restrict the vocabulary to likely translations; requires regard shortlist RUN.")
    ] = False
    tuned: Annotated[
        bool, Doc("Use the search and features tuned by regard tune; explicit settings override them.")
    ] = False
    adequacy: Annotated[
        Annotated[Choice, PartOf(ADEQUACIES)] | None, Doc("Detector of words that may be untranslated; null: off.")
    ] = None
    max_source: Annotated[Size, Doc("Maximum input length, in pieces.")] = 1024
    ensemble: Annotated[
        tuple[Path, ...],
        OneOrMany(),
        Doc("Ensemble: folders of other runs with the same vocabularies; relative to this run's folder first."),
    ] = ()
    ensemble_mean: Annotated[
        Literal["log_probabilities", "probabilities"], Doc("Averaging of probabilities or log-probabilities.")
    ] = "log_probabilities"
    rerank: Annotated[
        Annotated[RerankSettings, FieldsOf(RerankSettings)] | None,
        Doc("Reranking of the n-best list by another run; null: off."),
    ] = None
    consensus: Annotated[
        Annotated[ConsensusSettings, FieldsOf(ConsensusSettings)] | None,
        Doc("Consensus decoding (minimum Bayes risk) over the n-best lists of several runs; null: off."),
    ] = None
    terms: Annotated[
        Literal["auto", "constraints", "annotations", "both"],
        Doc(
            "Terms of a glossary: constraints of the search, annotations in the source (for a model trained with "
            "data.source_augmentations=terms), or both; auto: annotations where the model reads them."
        ),
    ] = "auto"
    term_cost: Annotated[
        Positive, Doc("Cost of a glossary's terms, in nats per word, above which a warning is printed.")
    ] = 1.0
    threshold: Annotated[
        Ratio | None,
        Doc(
            "Decision threshold: probability above which a label (of two: the second in alphabetical order), or "
            '"no answer", is chosen; null: the tuned one, else 0.5.'
        ),
    ] = None
    raw_text: Annotated[
        bool,
        Doc("Texts for a tagger are raw: signs are cut off words. false: words have spaces between them."),
    ] = False

    def located(self, folder: Path) -> "DecodingSettings":
        """Return the same with other runs searched in the folder of this one first, so that both can be moved."""
        rerank = self.rerank and replace(self.rerank, run=_inside(folder, self.rerank.run))
        ensemble = tuple(_inside(folder, one) for one in self.ensemble)
        consensus = self.consensus and replace(
            self.consensus, runs=tuple(_inside(folder, one) for one in self.consensus.runs)
        )
        return replace(self, rerank=rerank, ensemble=ensemble, consensus=consensus)

    @property
    def other_runs(self) -> tuple[Path, ...]:
        """Folders of the other runs that take part in an answer."""
        ranking = () if self.rerank is None else (self.rerank.run,)
        return (*self.ensemble, *ranking, *(() if self.consensus is None else self.consensus.runs))


def _inside(folder: Path, path: Path) -> Path:
    """Resolve a relative path in a folder, where it exists there; else return it unchanged."""
    return folder / path if not path.is_absolute() and (folder / path).exists() else path


_METRICS = tuple(map(Choice, ("bleu", "chrf", "ter", "exact_match")))


@dataclass(frozen=True)
class EvaluationSettings:
    """Evaluation of a trained model."""

    metrics: Annotated[
        tuple[Annotated[Choice, PartOf(METRICS)], ...],
        OneOrMany(),
        Doc("Reported metrics; the first is the main one."),
    ] = _METRICS


@dataclass(frozen=True)
class InitialSettings:
    """Initialisation from another model, a run or one of Hugging Face: its tokenizers, and weights of its parts."""

    run: Annotated[Path | None, Doc("Folder of a run to take weights and vocabularies from.")] = None
    huggingface: Annotated[
        Path | None, Doc("Folder of a BERT or RoBERTa checkpoint: config.json, model.safetensors, tokenizer.json.")
    ] = None
    parts: Annotated[
        tuple[str, ...], OneOrMany(), Doc("Parts to initialise: encoder, decoder, embedder, head …; empty: all.")
    ] = ()
    frozen: Annotated[bool, Doc("Freeze the initialised parts; only new layers are trained.")] = False
    new_pieces: Annotated[
        Count, Doc("Pieces to add to the subword vocabularies of the run, learnt from the new text; 0: none.")
    ] = 0
    own_vocabulary: Annotated[
        bool, Doc("Learn vocabularies from the new text; embeddings of equal pieces are taken (transfer learning).")
    ] = False
    vocabularies: Annotated[
        Mapping[str, str],
        Doc("Vocabulary sources: column of this run → column of the other; {}: same names."),
    ] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The given folder."""
        folder = self.huggingface or self.run
        assert folder is not None  # checked where settings are read
        return folder


@dataclass(frozen=True)
class Experiment:
    """The complete settings of one run, defaults included."""

    data: Annotated[DataSettings, FieldsOf(DataSettings), Doc("Data: training, dev and test sets.")] = field(
        default_factory=DataSettings
    )
    text: Annotated[TextSettings, FieldsOf(TextSettings), Doc("Tokenization and vocabularies."), Fixed(), Taken()] = (
        field(default_factory=TextSettings)
    )
    model: Annotated[
        Choice, PartOf(MODELS), Doc("Network; tasks other than translation have their own default."), Taken()
    ] = Choice("translator")
    objective: Annotated[Choice, PartOf(OBJECTIVES), Doc("Training objective (loss).")] = Choice("likelihood")
    penalties: Annotated[
        tuple[Annotated[Choice, PartOf(PENALTIES)], ...],
        OneOrMany(),
        Doc("Penalties on attention, added to the loss."),
    ] = ()
    training: Annotated[TrainingSettings, _TRAINING, Doc("Training: optimizer, schedule, limits and checkpoints.")] = (
        field(default_factory=TrainingSettings)
    )
    decoding: Annotated[
        DecodingSettings,
        FieldsOf(DecodingSettings),
        Doc("Decoding: search and its features; can change after training."),
        Open(),
    ] = field(default_factory=DecodingSettings)
    evaluation: Annotated[
        EvaluationSettings,
        FieldsOf(EvaluationSettings),
        Doc("Evaluation metrics; can change after training."),
        Open(),
    ] = field(default_factory=EvaluationSettings)
    task: Annotated[
        Choice, PartOf(TASKS), Doc("Task: columns of an example and kind of prediction."), Fixed(), Taken()
    ] = Choice("translation")
    init: Annotated[
        Annotated[InitialSettings, FieldsOf(InitialSettings)] | None,
        Doc("Initialisation from another model; null: random weights."),
        Fixed(),
    ] = None
    parts: Annotated[
        tuple[Path, ...],
        OneOrMany(),
        Doc("Python files with parts of your own: each ends with a table PARTS (docs/how-to/own-parts.md)."),
        Open(),
    ] = ()
    device: Annotated[str, Doc("Device: auto (a GPU if available), cpu, cuda, cuda:1 …"), Open()] = "auto"
    run: Annotated[Path | None, Doc("Output folder; null: runs/ and a name made of time and languages.")] = None
    format: Annotated[Literal[2], Doc("Version of the settings format.")] = 2

    @property
    def columns(self) -> Mapping[str, str]:
        """Columns of an example, name → row of COLUMNS: "source" and "target" for translation, "text" otherwise."""
        return dict(self.task_class.columns)

    @property
    def vocabularies(self) -> Mapping[str, str]:
        """Vocabularies of a run, name → row of COLUMNS: its columns, and those of single languages ("target-fr")."""
        last, kind = [*self.columns.items()][-1]
        return {**self.columns, **{own_name(last, language): kind for language in self.text.own_vocabularies}}

    @property
    def task_class(self) -> type[Task]:
        """The row of TASKS."""
        return task_class(self.task.name)

    def reader(self, part: str) -> Choice | None:
        """Return the reader of a part of the data, with located files; None where the settings name none."""
        return self.data.readers().get(part)

    def along(self, route: str) -> "Experiment":
        """Return the settings of one route: its data, in its languages. Raises ConfigError for an unknown name."""
        return replace(self, data=self.data.along(route), decoding=replace(self.decoding, route=route))

    def views(self) -> "dict[str, Experiment]":
        """Return the settings of each route by its name; those of data.train come first, as "train"."""
        return {"train": self, **{name: self.along(name) for name in self.data.routes}}

    def save(self, path: Path) -> None:
        """Write a file that `load_experiment` reads back unchanged."""
        write_yaml(path, as_values(self))


OPEN = marked(Experiment, Open)
