"""Graphs of ONNX Runtime under the searches of this program: prefixes, glossaries, any search."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding import Answering, Search
from regard.errors import CheckpointError, RegardError
from regard.predictor.engines.export_engine import Export, ExportEngine, MissingNetwork, OpenedEngine
from regard.predictor.engines.translator import GraphTranslator, RowState
from regard.records import Batch, Step
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


class GraphWriter(MissingNetwork):
    """A writer whose steps graphs compute. It has no gradients, and reads no given targets."""

    def __init__(self, engine: str, translator: GraphTranslator) -> None:
        super().__init__(engine, translator.settings["max_source"])
        self.loaded = LoadedGraphs(translator)

    def longest(self, batch: Batch) -> int:
        most: int = self.loaded.translator.settings["max_target"]
        return most

    def start(self, batch: Batch) -> WrittenRows:
        return WrittenRows(self.loaded.translator.start(rows_of(batch.sequences("source"))))

    def step(self, ids: Tensor, state: WrittenRows, *, need_weights: bool = False) -> tuple[Step, WrittenRows]:
        scores, after = self.loaded.translator.step(ids[:, 0].numpy(), state.inner)
        return Step(torch.from_numpy(scores)), WrittenRows(after)


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
