"""Graphs of ONNX Runtime under the searches of this program: prefixes, glossaries, any search."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.decoding import Answering, Search
from regard.errors import CheckpointError, RegardError
from regard.models import Generator
from regard.ops.topk import best_words
from regard.predictor.engines.export_engine import Export, ExportEngine, MissingNetwork, OpenedEngine
from regard.predictor.engines.translator import GraphTranslator, RowState
from regard.records import Batch, Decoded, Encoded, Step
from regard.tasks.text_predictions import rows_of


class WrittenRows(NamedTuple):
    """The state of rows."""

    inner: RowState

    def select(self, rows: Tensor) -> "WrittenRows":
        """Rows in that order."""
        return WrittenRows(self.inner.select(rows.numpy()))


class LoadedGraphs(NamedTuple):
    """An opened folder."""

    translator: GraphTranslator

    def __deepcopy__(self, memo: object) -> "LoadedGraphs":
        """The same one: any thread may call it."""
        return self


class GraphWriter(Generator):
    """A writer whose steps are those of graphs. It has no gradients, and reads no given targets."""

    def __init__(self, engine: str, translator: GraphTranslator) -> None:
        super().__init__()
        self.loaded = LoadedGraphs(translator)
        self.missing = MissingNetwork(engine, translator.settings["max_source"])

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @property
    def max_source(self) -> int | None:
        return self.missing.max_source

    def longest(self, batch: Batch) -> int:
        most: int = self.loaded.translator.settings["max_target"]
        return most

    def start(self, batch: Batch) -> WrittenRows:
        return WrittenRows(self.loaded.translator.start(rows_of(batch.sequences("source"))))

    def step(self, ids: Tensor, state: WrittenRows, *, need_weights: bool = False) -> tuple[Step, WrittenRows]:
        scores, after = self.loaded.translator.step(ids[:, 0].numpy(), state.inner)
        return Step(torch.from_numpy(scores)), WrittenRows(after)

    def best(
        self, ids: Tensor, state: Any, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, WrittenRows]:
        step, after = self.step(ids, state)
        return *best_words(step.log_probs, count, forbidden, included), after

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        return self.missing.nll(batch, smoothing=smoothing)

    def counted(self, batch: Batch) -> Tensor:
        return self.missing.counted(batch)

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded | None]:
        return self.missing.decode(batch, need_weights=need_weights)


class OnnxEngine(ExportEngine):
    """Steps in ONNX Runtime."""

    name = "onnx"
    packages = ("onnxruntime",)
    extra = "onnx"
    supported = frozenset({"terms", "confidence"})

    def open(self, export: Export) -> OpenedEngine:
        writer = GraphWriter(self.name, opened_graphs(export.folder, self.name, threads=1))  # a thread computes a batch

        def engine(search: Search) -> Answering:
            return export.task.engine(writer, search)

        return OpenedEngine(writer, engine)


def opened_graphs(folder: Path, program: str, threads: int = 0) -> GraphTranslator:
    """Open graphs of a program, onnx or torch; `threads` compute one batch, 0: all.

    Graphs of torch can run code when they are opened. Raises CheckpointError for a damaged folder and for graphs of
    another program.
    """
    try:
        return GraphTranslator(folder, threads=threads, program=program)
    except ImportError as error:
        raise RegardError(f"{folder}: {error.name} is not installed (pip install -e '.[onnx]')") from error
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(folder, f"cannot be opened: {error}", "export the run again") from error
