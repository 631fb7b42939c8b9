"""The contract of formats: other programs' folders of a translator, read into a run and written from one."""

import hashlib
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from regard.config import parse_json
from regard.data.readers.lines import read_lines
from regard.data.sealed import file_digest
from regard.decoding import Search
from regard.errors import CheckpointError, DataError, RegardError
from regard.experiment import Experiment
from regard.predictor import Predictor
from regard.text import Tokenizer
from regard.training.shards import Tensors

LARGEST_SIZE = 1_000_000  # of a layer, a vocabulary, a number of layers
_NETWORK_ALONE = {  # of decoding
    "features": "[]",
    "shortlist": "false",
    "ensemble": "[]",
    "rerank": "null",
    "consensus": "null",
}
START_BIAS = -30.0  # of the beginning where its row is a copy: it takes 1e-13 of the probability of what it copies


class Foreign(NamedTuple):
    """A model of another program in our terms."""

    settings: Mapping[str, Any]  # of an experiment: text, model, decoding, data.languages
    weights: Tensors  # by the names of our model; of tied tensors one name is enough
    tokenizers: Mapping[str, Tokenizer]  # by folder of a run's text: shared, or source and target
    origin: Mapping[str, Any]  # as `origin_of_folder` returns it
    files: Mapping[str, bytes] = {}  # more files of the run, by name
    not_carried: Sequence[str] = ()  # settings of the other program that no part here has, as NAME=VALUE


class ReadOptions(NamedTuple):
    """Options of an import."""

    allow_pickle: bool = False  # read weights from a pickle, with torch's loader of weights alone
    languages: tuple[str, str] | None = None  # codes of source and target, for a model of several

    def pair(self, folder: Path, named: Sequence[str] | None) -> tuple[str, str] | None:
        """Return the languages of source and target; those that the folder has `named` where none are given.

        Raises CheckpointError for one language twice, and for the pair of the folder the other way round.
        """
        if self.languages is None:
            return None if named is None else (named[0], named[1])
        source, target = self.languages
        if source == target:
            raise CheckpointError(folder, f"--languages names {source!r} twice", "--languages en de")
        if named is not None and [*named] == [target, source]:
            problem = f"translates from {target!r} to {source!r}, not the other way"
            raise CheckpointError(folder, problem, f"fetch the model {source}-{target}")
        return self.languages


DEFAULT_OPTIONS = ReadOptions()


class Program(ABC):
    """The program of a format, opened on one folder: an oracle for our model."""

    name: str  # with its version

    @abstractmethod
    def translate(self, texts: Sequence[str]) -> list[str]:
        """Return the translations, searched as the folder says."""

    def log_probs(self, texts: Sequence[str], targets: Sequence[Sequence[int]]) -> list[Tensor] | None:
        """Return log-probabilities (target + 1, vocab) behind each place of targets, in our ids; None: it has none."""
        return None


class Format(ABC):
    """A row of FORMATS: how one kind of folder is recognised, read, written and checked."""

    name: ClassVar[str]
    reads: ClassVar[bool] = True  # False: folders are written alone
    program_hint: ClassVar[str] = ""  # how its program is installed
    library: ClassVar[str] = "regard"  # that opens an export, as the Hugging Face hub names it
    usage: ClassVar[str] = '```bash\necho "TEXT" | regard predict RUN\n```'  # of an export, in Markdown; here of a run
    min_similarity: float = 1.0  # of translations by an export and by the run, on average: less where it rounds

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder looks like one of this format; nothing but names and small files is read."""
        return False

    def translates(self, folder: Path) -> bool:
        """Return whether such a folder holds a translator, and no encoder alone."""
        return True

    def read(self, folder: Path, options: ReadOptions) -> Foreign:
        """Read a folder. Raises CheckpointError for what is missing, damaged, or has no counterpart here."""
        raise RegardError(f"{folder}: folders of {self.name} are written here and not read")

    def write(self, predictor: Predictor, folder: Path) -> None:
        """Write the model of a run into an empty folder. Raises RegardError for a model that the format cannot hold."""
        raise RegardError(f"{folder}: folders of {self.name} are read here and not written")

    def notes(self, predictor: Predictor) -> dict[str, Any]:
        """Return what its engine has to know of an export, as plain values."""
        return {}

    def compared_search(self, search: Search) -> Search:
        """Return the search in which texts are compared: that of a run, or the nearest one that the program has."""
        return search

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        """Open a folder with the format's own program; None where it is not installed."""
        return None


def check_plain_translator(experiment: Experiment, program: str, carried: Sequence[str] = ()) -> None:
    """Raise RegardError for a run that is not a translator of one pair of languages, searched by its network alone.

    `carried` are settings of its decoding that the program has besides.
    """
    if experiment.task.name != "translation" or experiment.model.name != "translator":
        model = experiment.model.name
        raise not_exportable(f"it is a '{model}'", "a neural translator of one pair of languages", program)
    for name, empty in _NETWORK_ALONE.items():
        if name not in carried and getattr(experiment.decoding, name):
            raise not_exportable(f"decoding.{name} changes its translations", f"decoding.{name}={empty}", program)


def not_exportable(problem: str, needed: str, program: str) -> RegardError:
    """Return the error of a run that a program cannot carry."""
    return RegardError(f"this run cannot be exported: {problem} ({program}: {needed})")


def origin_of_folder(format_name: str, folder: Path, architecture: str, files: Sequence[str]) -> dict[str, Any]:
    """Return where a model comes from: format, folder, architecture, licence, and size and SHA-256 of its files."""
    digests = {name: [(folder / name).stat().st_size, file_digest(folder / name)] for name in files}
    return {
        "format": format_name,
        "folder": folder.resolve().name,
        "architecture": architecture,
        "license": license_of(folder),
        "files": digests,
    }


def license_of(folder: Path) -> str | None:
    """Return the licence that the README.md of a folder names in its front matter; None where it names none."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    if not lines or lines[0].strip() != "---":
        return None
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if line.strip() == "---":
            return None
        if name.strip() == "license" and value.strip():
            return value.strip().strip("\"'")
    return None


def json_object(file: Path) -> dict[str, Any]:
    """Return the object of a JSON file. Raises CheckpointError where it is missing or is not an object."""
    try:
        found = parse_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(file.parent, f"has no {file.name}") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CheckpointError(file, "is not a JSON object")
    return found


def read_bytes(file: Path) -> bytes:
    """Return the content of a file. Raises CheckpointError where it is missing or empty."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CheckpointError(file.parent, f"has no {file.name}") from error
    if not content:
        raise CheckpointError(file, "is empty")
    return content


def read_texts(file: Path) -> list[str]:
    """Return the lines of a file that are not empty. Raises DataError where there is none, or it cannot be read."""
    found = [line for line in read_lines(file) if line.strip()]
    if not found:
        raise DataError(file, "has no texts")
    return found


def size_problem(name: str, value: Any, most: int = LARGEST_SIZE) -> str:
    """Return why a value of a stranger's file is not a size; "" where it is one."""
    if type(value) is int and 1 <= value <= most:
        return ""
    return f"{name} is {short_repr(value)}, and a whole number from 1 to {most:,} is needed"


def short_repr(value: Any) -> str:
    """Return the beginning of a value's repr; a few YAML aliases can mean billions of values."""
    return reprlib.repr(value)[:40]


def digest_of_texts(texts: Sequence[str]) -> str:
    """Return a SHA-256 of texts."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
