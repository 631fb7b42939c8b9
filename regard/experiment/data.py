"""Settings of data: for each part a file per column of the task, or a reader."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt

from regard.augmentations import AUGMENTATIONS
from regard.config import Doc, FieldsOf, Fixed, OneOrMany, PartOf
from regard.config.bounds import Fraction, NotNegative, Positive, Seed, Size
from regard.data.readers import READERS
from regard.data.transforms import TRANSFORMS
from regard.errors import ConfigError, Fault, nearest
from regard.packed import file_kind
from regard.registry import Choice

_Part = Literal["train", "dev", "test"]
DATA_PARTS: tuple[_Part, ...] = ("train", "dev", "test")
CORPORA = "corpora."  # before the name of a further training corpus
RECOMBINED = "recombined"  # the corpus of data.recombination
ROUTES = "routes."  # before the name of a further pair of languages
OLD_STREAM = "old"  # the corpus of data.old
OLD = f"{OLD_STREAM}."  # before a part of the texts that the run to start from was trained on
_FILES = "parallel"  # the reader of a file per column
FOLDERS = "folders"  # the reader of a folder per label
FILE_SETTINGS = ("file", "files", "folder", "index")  # of a reader: a path, or paths by column
NO_LANGUAGES = ("txt", "raw", "tok", "bpe")  # endings of a file's name that look like codes of languages


def by_ending(text: str) -> Mapping[str, Any] | None:
    """Return the reader of a file by its ending (`pairs.tsv.gz` → `tsv`), `folders` for a folder; None without one."""
    if Path(text).is_dir():
        return {"name": FOLDERS, "folder": text}
    row = READERS.find(file_kind(text))
    return None if row is None else {"name": row.name, **row.settings, "file": text}


def by_column(group: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the reader of files by column, {source: a.en, target: a.de}; None for settings of a reader."""
    settings = {setting for name in READERS for setting in READERS.settings(name)}
    return None if settings & group.keys() else {"name": _FILES, "files": dict(group)}


_Read = Annotated[Choice, PartOf(READERS, short=by_ending, unnamed=by_column)]


_Pair = tuple[str | None, str | None]  # codes of source and target, where they are known


@dataclass(frozen=True)
class RouteSettings:
    """The texts of a further language pair, for a multilingual model."""

    train: Annotated[_Read | None, Doc("Training set of this pair; null: this pair is not trained.")] = None
    dev: Annotated[_Read | None, Doc("Dev set, used to select the best checkpoint.")] = None
    test: Annotated[_Read | None, Doc("Test set of this pair, used when decoding.route names it.")] = None
    languages: Annotated[
        tuple[str, str] | None,
        Doc("Language codes of source and target; null: from the file extensions, else from the route's name."),
    ] = None

    def pair(self) -> _Pair:
        """Codes of both languages."""
        return self.languages or next((pair_of(one) for one in (self.train, self.dev, self.test) if one), (None, None))


@dataclass(frozen=True)
class RecombinationSettings:
    """Synthetic training pairs, made of the given ones."""

    copies: Annotated[Size, Doc("Maximum number of synthetic pairs per training pair.")] = 8
    fraction: Annotated[
        Annotated[float, Gt(0), Lt(1)], Doc("Fraction of the training batches made of synthetic pairs.")
    ] = 0.5


@dataclass(frozen=True)
class OldTextSettings:
    """Texts that the run to start from was trained on: mixed into the batches, and evaluated beside the new ones."""

    train: Annotated[_Read | None, Doc("Old training set, mixed into the batches; null: not mixed.")] = None
    dev: Annotated[_Read | None, Doc("Old dev set; null: held out of the old training set.")] = None
    dev_fraction: Annotated[Fraction, Doc("Fraction of the old training set held out as its dev set.")] = 0.0
    test_fraction: Annotated[
        Fraction, Doc("Fraction of the old training set that is left out, as the test set of the run to start from.")
    ] = 0.0
    fraction: Annotated[
        Annotated[float, Gt(0), Lt(1)], Doc("Fraction of the training batches made of old text (experience replay).")
    ] = 0.5
    tolerance: Annotated[
        NotNegative,
        Doc("Maximum loss on the old dev set, in points of its metric: a worse checkpoint is not kept."),
    ] = 0.5
    metric: Annotated[str | None, Doc("Metric of the old dev set; null: training.metric.")] = None
    examples: Annotated[Size, Doc("Maximum number of old dev examples that each validation answers.")] = 1_000
    significant: Annotated[
        bool,
        Doc(
            "Keep only checkpoints that gain on new text, and lose nothing on old text, beyond chance "
            "(95 % intervals of a paired bootstrap)."
        ),
    ] = False


@dataclass(frozen=True)
class DataSettings:
    """`train`, `dev` and `test`: a text file for each column of the task ({source: a.en, target: a.de}), or a reader.

    `corpora` are further training sets, by name: the source of each batch is sampled by `weights`. `routes` are further
    language pairs, each with its own parts, for a multilingual model.
    A relative path is searched in `dir`, then in the working directory, then in the folder named by the environment
    variable REGARD_DATA.
    """

    dir: Annotated[Path | None, Doc("Base folder of relative paths.")] = None
    train: Annotated[_Read | None, Doc("Training set: a file for each column, or a reader.")] = None
    dev: Annotated[_Read | None, Doc("Dev set, used to select the best checkpoint.")] = None
    test: Annotated[_Read | None, Doc("Test set, used by `evaluate` and `compare`.")] = None
    corpora: Annotated[Mapping[str, _Read], Doc("Further training sets, by name.")] = field(default_factory=dict)
    routes: Annotated[
        Mapping[str, Annotated[RouteSettings, FieldsOf(RouteSettings)]],
        Doc("Further language pairs, by name, such as fr or en-fr."),
    ] = field(default_factory=dict)
    old: Annotated[
        Annotated[OldTextSettings, FieldsOf(OldTextSettings)] | None,
        Doc("Texts of the run to start from, against forgetting; null: none."),
        Fixed(),
    ] = None
    weights: Annotated[
        Mapping[str, Positive],
        Doc("Sampling weights of train, of each corpus and of each route; empty: by size."),
        Fixed(),
    ] = field(default_factory=dict)
    recombination: Annotated[
        Annotated[RecombinationSettings, FieldsOf(RecombinationSettings)] | None,
        Doc("Phrase recombination (data augmentation): exchange aligned phrases in the same context; null: off."),
        Fixed(),
    ] = None
    source_augmentations: Annotated[
        tuple[Annotated[Choice, PartOf(AUGMENTATIONS)], ...],
        OneOrMany(),
        Doc("Context in the sources of further training pairs, as a memory or a glossary gives it at prediction."),
        Fixed(),
    ] = ()
    transforms: Annotated[
        tuple[Annotated[Choice, PartOf(TRANSFORMS)], ...],
        OneOrMany(),
        Doc("Transforms of training batches (noise, augmentation), in order."),
        Fixed(),
    ] = ()
    languages: Annotated[
        tuple[str, str] | None, Doc("Language codes of source and target; null: from the file extensions.")
    ] = None
    dev_fraction: Annotated[Fraction, Doc("Fraction of train held out as dev set if none is given.")] = 0.0
    test_fraction: Annotated[Fraction, Doc("Fraction of train held out as test set if none is given.")] = 0.0
    folds: Annotated[
        Annotated[int, Ge(2)] | None,
        Doc("Number of cross-validation folds; one is the test set; equal texts share a fold."),
        Fixed(),
    ] = None
    fold: Annotated[Size, Doc("Index of the test fold, from 1; compare runs each in turn."), Fixed()] = 1
    stratified: Annotated[
        bool,
        Doc("Stratified folds: each has about the same share of every label. false: regardless of labels."),
        Fixed(),
    ] = False
    fold_seed: Annotated[Seed, Doc("Random seed of the folds."), Fixed()] = 0
    cache: Annotated[Path | None, Doc("Cache folder of tokenized corpora; null: the run's folder.")] = None
    max_length: Annotated[
        Size, Doc("Maximum length of a training example, in pieces; longer ones are dropped and counted."), Fixed()
    ] = 256

    def readers(self) -> dict[str, Choice]:
        """Return the readers of the config, with located files: train, "corpora.NAME", "routes.NAME.dev" …"""
        named: dict[str, Choice | None] = {part: getattr(self, part) for part in DATA_PARTS}
        named |= {f"{CORPORA}{name}": choice for name, choice in self.corpora.items()}
        for name, route in self.routes.items():
            named |= {f"{ROUTES}{name}.{part}": getattr(route, part) for part in DATA_PARTS}
        if self.old is not None:
            named |= {f"{OLD}train": self.old.train, f"{OLD}dev": self.old.dev}
        return {part: self._located(choice) for part, choice in named.items() if choice is not None}

    def fractions(self) -> dict[str, float]:
        """Return the fractions of the batches that settings give to synthetic pairs and old text, by corpus.

        Augmented pairs have the same share of new and of old text.
        """
        augmented = {one.name: AUGMENTATIONS.build(one).fraction for one in self.source_augmentations}
        old = 0.0 if self.old is None or self.old.train is None else self.old.fraction
        found = {name: fraction * (1 - old) for name, fraction in augmented.items()}
        found |= {} if self.recombination is None else {RECOMBINED: self.recombination.fraction}
        if old:
            found |= {OLD_STREAM: old * (1 - sum(augmented.values()))}
            found |= {f"{OLD}{name}": fraction * old for name, fraction in augmented.items()}
        return found

    def located(self) -> "DataSettings":
        """Return the same data with full paths of all files, and the languages of their names."""
        readers = self.readers()
        found: dict[str, Any] = {part: readers[part] for part in DATA_PARTS if part in readers}
        found["corpora"] = {name: readers[f"{CORPORA}{name}"] for name in self.corpora}
        found["routes"] = {name: self._located_route(name, readers) for name in self.routes}
        if self.old is not None:
            found["old"] = replace(self.old, train=readers.get(f"{OLD}train"), dev=readers.get(f"{OLD}dev"))
        match self.language_pair():
            case str(source), str(target):
                found["languages"] = (source, target)
        return replace(self, **found)

    def find(self, path: Path | str) -> Path:
        """Return a path that can be opened; unchanged where there is no such file."""
        path = _home(path)
        base = os.environ.get("REGARD_DATA")
        places = [self.dir, Path(), Path(base) if base else None]
        tried = [_home(place) / path for place in places if place is not None]
        return next((file.absolute() for file in tried if file.exists()), path)

    def faults(self, columns: Sequence[str]) -> Iterator[Fault]:
        """Yield faults of files that are missing, incomplete, or named for another task's columns."""
        if self.train is None:
            yield Fault("data.train", "must be given", _wanted("train", columns))
        for part, choice in self.readers().items():
            yield from self._faults(part, choice, columns)
        if self.dev_fraction + self.test_fraction >= 1:
            yield Fault(
                "data.dev_fraction",
                f"and data.test_fraction hold out {self.dev_fraction + self.test_fraction:g} of all",
                "less than 1",
            )
        if self.languages and self.languages[::-1] == pair_of(self.train) != self.languages:
            problem = f"is [{', '.join(self.languages)}], and the files of data.train are named the other way round"
            yield Fault("data.languages", problem, "exchange source and target, or the languages")
        yield from self._fold_faults()
        if "train" in self.corpora:
            yield Fault("data.corpora.train", "has the name of the first corpus", "choose another name")
        if self.old is not None and "old" in {**self.corpora, **self.routes}:
            yield Fault("data.corpora.old", "has the name of data.old", "choose another name")
        yield from self._synthetic_faults(columns)
        yield from self._route_faults()
        routes = [name for name, route in self.routes.items() if route.train is not None]
        streams = ["train", *self.corpora, *routes]
        if self.weights and self.weights.keys() != set(streams):
            problem = f"names {', '.join(self.weights)}, the corpora are {', '.join(streams)}"
            yield Fault("data.weights", problem, "a weight for each of them, or none")

    def language_pair(self) -> _Pair:
        """Return the codes of both languages: from `languages`, the reader, or names of files (train.en.gz → en)."""
        return self.languages or pair_of(self.train)

    def along(self, name: str) -> "DataSettings":
        """Return the data of one route alone, in its languages. Raises ConfigError for an unknown name."""
        source, target = self.language_pair()
        if name not in self.routes:
            if name not in self._first_names():
                names = [*self.routes, *([target] if target else [])]
                hint = nearest(name, names) if self.routes else "leave it out: this run has one language pair"
                raise ConfigError("decoding.route", f"there is no '{name}'", hint)
            return replace(self, routes={})
        route = self.routes[name]
        first, second = route.pair()
        pair = (first, second) if first and second else (source or "", name)
        only = replace(self, train=route.train, dev=route.dev, test=route.test, languages=pair)
        return replace(only, corpora={}, routes={}, weights={}, old=None)

    def _faults(self, part: str, choice: Choice, columns: Sequence[str]) -> Iterator[Fault]:
        for setting in FILE_SETTINGS:
            files = choice.settings.get(setting)
            if isinstance(files, Mapping):
                yield from _columns(part, files, columns)
            several = files if isinstance(files, Mapping) else {} if files is None else {setting: files}
            for name, file in several.items():
                if not self.find(file).exists():
                    yield Fault(f"data.{part}.{name}", f"there is no file '{file}'", _looked(self.dir))

    def _synthetic_faults(self, columns: Sequence[str]) -> Iterator[Fault]:
        """Yield faults of settings that make training pairs of the given ones."""
        augmented = [one.name for one in self.source_augmentations]
        settings = {"recombination": [RECOMBINED] * (self.recombination is not None), "source_augmentations": augmented}
        for setting, names in settings.items():
            if names and tuple(columns) != ("source", "target"):
                yield Fault(f"data.{setting}", "needs pairs of a source and a target", "leave it out for this task")
            for name in names:
                if name in {**self.corpora, **self.routes}:
                    yield Fault(f"data.{CORPORA}{name}", f"has the name of data.{setting}", "choose another name")
        if len({*augmented}) < len(augmented):
            yield Fault("data.source_augmentations", f"names {augmented[0]} twice", "each once")
        if sum(self.fractions().values()) >= 1:
            named = ", ".join(f"{name} {fraction:g}" for name, fraction in self.fractions().items())
            yield Fault("data", f"leaves no batch to plain pairs: the fractions are {named}", "less than 1 in all")

    def _route_faults(self) -> Iterator[Fault]:
        """Yield faults of routes named like a corpus or like the pair of `train`: decoding.route would be ambiguous."""
        for name in self.routes:
            if name in ("train", *self.corpora):
                yield Fault(f"data.routes.{name}", "has the name of a corpus", "choose another name")
            elif name in self._first_names():
                yield Fault(f"data.routes.{name}", "has the name of the pair of data.train", "choose another name")

    def _first_names(self) -> tuple[str, ...]:
        """Return the names of the pair of `train` in decoding.route."""
        source, target = self.language_pair()
        return () if target is None else (target, f"{source}-{target}")

    def _fold_faults(self) -> Iterator[Fault]:
        """Yield faults of folds that contradict other settings."""
        if self.folds is None:
            if self.fold > 1:
                yield Fault("data.fold", f"is {self.fold}, but there are no folds", "data.folds=10")
            if self.stratified:
                yield Fault("data.stratified", "needs cross-validation folds", "data.folds=10")
            return
        if self.test is not None:
            yield Fault("data.folds", "takes the test set from data.train", "leave data.test out")
        if self.fold > self.folds:
            yield Fault("data.fold", f"is {self.fold}, but there are {self.folds} folds", f"1 to {self.folds}")

    def _located_route(self, name: str, readers: Mapping[str, Choice]) -> RouteSettings:
        train, dev, test = (readers.get(f"{ROUTES}{name}.{part}") for part in DATA_PARTS)
        return replace(self.routes[name], train=train, dev=dev, test=test, languages=self.along(name).languages)

    def _located(self, choice: Choice) -> Choice:
        given = {name: choice.settings.get(name) for name in FILE_SETTINGS}
        files = {name: self._found(value) for name, value in given.items() if value is not None}
        return Choice(choice.name, {**choice.settings, **files})

    def _found(self, files: Any) -> Any:
        if isinstance(files, Mapping):
            return {column: str(self.find(file)) for column, file in files.items()}
        return str(self.find(files))


def pair_of(reader: Choice | None) -> _Pair:
    """Return the codes of source and target, from a reader's settings or the names of its files."""
    settings = {} if reader is None else reader.settings
    match settings.get("languages"):  # of a translation memory
        case str(source), str(target):
            return source, target
    files = settings.get("files")
    named = files if isinstance(files, Mapping) else {}
    return _ending(named.get("source")), _ending(named.get("target"))


def is_learnt_from(part: str) -> bool:
    """Return whether a part of `readers` is a training set."""
    return part == "train" or part.startswith(CORPORA) or (part.startswith(ROUTES) and part.endswith(".train"))


def named_files(part: str, columns: Sequence[str]) -> list[str]:
    """Return the settings that name the files of a part, one per column."""
    return [f"data.{part}.{column}" for column in columns]


def _columns(part: str, files: Mapping[str, Any], columns: Sequence[str]) -> Iterator[Fault]:
    """Yield faults of columns without a file, and of files without a column."""
    given = [column for column in columns if column in files]
    if not given and len(files) > 1:  # a run of another task
        named = " and ".join(f"data.{part}.{column}" for column in files)
        yield Fault(named, "are not columns of this task", _wanted(part, columns))
        return
    for column in columns:
        if column not in files:
            hint = f"beside data.{part}.{given[0]}" if given else _wanted(part, columns)
            yield Fault(f"data.{part}.{column}", "must be given", hint)
    for column in files:
        if column not in columns:
            yield Fault(f"data.{part}.{column}", "is not a column of this task", _wanted(part, columns))


def _wanted(part: str, columns: Sequence[str]) -> str:
    named = " and ".join(named_files(part, columns))
    return f"a text file: {named}" if len(columns) == 1 else f"text files: {named}"


def _ending(path: Any) -> str | None:
    ending = "" if path is None else file_kind(path)
    return ending if ending.isalpha() and len(ending) in (2, 3) and ending not in NO_LANGUAGES else None


def _home(path: Path | str) -> Path:
    """Expand `~`; leave it where there is no such user."""
    return Path(os.path.expanduser(path))


def _looked(folder: Path | None) -> str:
    places = [str(folder)] if folder else []
    base = os.environ.get("REGARD_DATA")
    places += [str(Path.cwd()), *([f"REGARD_DATA, {base}"] if base else [])]
    return "looked in " + "; ".join(places)
