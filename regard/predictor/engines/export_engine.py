"""The contract of engines: other programs that answer from an export, behind the door of our own searches."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn

import torch
from torch import Tensor

from regard.decoding import Answering, Search
from regard.errors import ConfigError
from regard.models import Generator, Model
from regard.predictor.setup import WITHOUT_ENGINE
from regard.records import Batch, Decoded, Encoded, State, Step
from regard.runs import Run
from regard.tasks import Task

EXPORT_FOLDER = "regard"  # in an export: its run without weights


class Export(NamedTuple):
    """An export that an engine opens."""

    folder: Path
    run: Run  # settings and vocabularies; it has no weights
    task: Task
    threads: int  # batches at once


class OpenedEngine(NamedTuple):
    """An engine, ready to answer."""

    model: Model  # a writer for our searches, or a `MissingNetwork`
    engine: Callable[[Search], Answering]  # the engine with a search; raises ConfigError for one that it does not have


class ExportEngine(ABC):
    """A row of ENGINES, named as the row of FORMATS that writes its exports."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]  # that must be installed
    extra: ClassVar[str]  # of `pip install -e '.[…]'`
    supported: ClassVar[frozenset[str]] = frozenset()  # of `setup.ABILITIES`

    @abstractmethod
    def open(self, export: Export) -> OpenedEngine:
        """Load the model of an export. Raises CheckpointError for one that is damaged."""


class MissingNetwork(Generator):
    """Stands for the network of an engine that searches by itself: every use raises ConfigError."""

    def __init__(self, engine: str, max_source: int) -> None:
        """`max_source`: most ids of a source, with the end."""
        super().__init__()
        self._engine, self._max_source = engine, max_source

    @property
    def device(self) -> torch.device:
        """The CPU, for batches."""
        return torch.device("cpu")

    @property
    def max_source(self) -> int | None:
        """Most ids of a source."""
        return self._max_source

    def _missing(self) -> NoReturn:
        raise ConfigError("engine", f"{self._engine} can only translate", WITHOUT_ENGINE)

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        self._missing()

    def counted(self, batch: Batch) -> Tensor:
        self._missing()

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        self._missing()

    def longest(self, batch: Batch) -> int | None:
        self._missing()

    def start(self, batch: Batch) -> State:
        self._missing()

    def step(self, ids: Tensor, state: Any, *, need_weights: bool = False) -> tuple[Step, State]:
        self._missing()
