"""A translator of any architecture as graphs, with a search in Python and JavaScript beside them."""

import importlib.util
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

import regard.runtime.folder
import regard.runtime.pieces
from regard.data.columns import TextColumn
from regard.data.sealed import file_digest
from regard.errors import RegardError
from regard.exchange.format import Format, Program, check_plain_translator, not_exportable
from regard.exchange.graphs.onnx_files import write_onnx
from regard.exchange.graphs.pieces import pieces_of
from regard.exchange.graphs.ports import GraphPort
from regard.exchange.graphs.programs import Graphs, graphs_of
from regard.models.translator import Translator
from regard.pieces import EOS
from regard.predictor import Predictor
from regard.predictor.engines import translator
from regard.predictor.engines.graphs import opened_graphs
from regard.predictor.engines.runtime import beam_rules
from regard.predictor.engines.translator import DECODER_GRAPH, ENCODER_GRAPH, present
from regard.runtime.folder import SETTINGS_NAME


class GraphFormat(Format):
    """Graphs, settings of the search, pieces, and programs that read them."""

    packages: ClassVar[tuple[str, ...]]  # that write it
    extra = ""  # of the package's own that installs them
    scripts: ClassVar[tuple[str, ...]] = ()  # beside those in Python

    @abstractmethod
    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        """Write the graphs, and return settings that reading them needs."""

    def write(self, predictor: Predictor, folder: Path) -> None:
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if missing:
            problem = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
            raise RegardError(f"{self.name}: {problem} (pip install -e '.[{self.extra}]')")
        search = search_settings(predictor, self.name)
        named = write_pieces(predictor, folder)
        most, model = predictor.encoder.max_source, cast(Translator, predictor.model)
        longest = int(np.float32(most) * np.float32(search["max_ratio"])) + search["max_extra"]
        written = model.longest(predictor.task.batch([{"source": [EOS + 2], "target": []}]))
        longest = longest if written is None else max(1, min(longest, written))
        graphs = graphs_of(model, len(predictor.task.vocabularies["source"]), max(longest, most) + 1)
        settings = {
            "program": self.name, "search": search, "max_source": most, "max_target": longest,
            "fixed": [one.name for one in graphs.states.fixed], "moving": [one.name for one in graphs.states.moving],
            **named, **self.write_graphs(graphs, folder),
        }  # fmt: skip
        write_settings(settings, folder)
        copied = [Path(str(module.__file__)) for module in (regard.runtime.folder, regard.runtime.pieces, translator)]
        for file in (*copied, *(copied[-1].with_name(name) for name in self.scripts)):
            text = file.read_text(encoding="utf-8").replace("from regard.runtime.", "from ")
            (folder / file.name).write_text(text, encoding="utf-8")

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        return GraphProgram(folder, self.name)


class OnnxFormat(GraphFormat):
    """encoder_model.onnx and decoder_model_merged.onnx, with the names of Hugging Face's optimum where it has one."""

    name = "onnx"
    aliases = "onnxruntime, onnx_runtime, optimum, ort"
    library = "onnx"
    usage = "```bash\npython FOLDER/translator.py < texts\nnode FOLDER/translator.js < texts\n```"
    packages = ("onnx", "onnxscript", "onnxruntime")
    extra = "onnx"
    scripts = ("translator.js",)

    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        write_onnx(graphs, folder)
        ports = {one.name: one for one in (*graphs.first.inputs, *graphs.later.inputs)}
        return {"inputs": {name: _empty(one) for name, one in ports.items()}}


class TorchFormat(GraphFormat):
    """Programs of torch.export: the encoder, the first step, and later steps."""

    name = "torch"
    aliases = "exported_program, pt2, torch_export"
    usage = "```bash\npython FOLDER/translator.py < texts\n```"
    packages = ("torch",)

    def write_graphs(self, graphs: Graphs, folder: Path) -> dict[str, Any]:
        named = {ENCODER_GRAPH: graphs.encoder, DECODER_GRAPH: graphs.first, f"{DECODER_GRAPH}_with_past": graphs.later}
        ports = {}
        for name, graph in named.items():
            torch.export.save(graph.program, folder / f"{name}.pt2")
            outputs = [present(one.name) if graph is not graphs.encoder else one.name for one in graph.outputs]
            ports[name] = [[one.name for one in graph.inputs], outputs]
        return {"programs": ports}


class GraphProgram:
    """The search in numpy over the graphs of a folder."""

    def __init__(self, folder: Path, program: str) -> None:
        self._translator = opened_graphs(folder, program)
        self.name = self._translator.graphs.name

    def translate(self, texts: Sequence[str]) -> list[str]:
        return self._translator.translate(texts)

    def log_probs(self, texts: Sequence[str], targets: Sequence[Sequence[int]]) -> list[Tensor]:
        rows = [[*self._translator.source.encode(text), EOS] for text in texts]
        pairs = zip(rows, targets, strict=True)
        return [torch.from_numpy(self._translator.forced(source, target)) for source, target in pairs]


def search_settings(predictor: Predictor, program: str) -> dict[str, Any]:
    """Return the settings of a run's search. Raises RegardError for a run with parts that a program does not have."""
    experiment = predictor.run.experiment
    check_plain_translator(experiment, program)
    found = beam_rules(predictor.setup.search)
    if found is None:
        raise not_exportable(f"decoding.search is {experiment.decoding.search.name!r}", "beam or greedy", program)
    return found


def write_pieces(predictor: Predictor, folder: Path) -> dict[str, str]:
    """Write the pieces of both sides, once where they are equal; return the name of each side's file."""
    columns = {name: cast(TextColumn, predictor.task.vocabularies[name]) for name in ("source", "target")}
    kept = {name: pieces_of(column.tokenizer, name) for name, column in columns.items()}
    shared = kept["source"] == kept["target"]
    named = {name: "pieces.json" if shared else f"{name}_pieces.json" for name in kept}
    for name, file in named.items():
        (folder / file).write_text(json.dumps(kept[name], ensure_ascii=False), encoding="utf-8")
    return named


def write_settings(settings: Mapping[str, Any], folder: Path) -> None:
    """Write translator.json, with a digest of each file that is there."""
    digests = {file.name: file_digest(file) for file in sorted(folder.iterdir())}
    (folder / SETTINGS_NAME).write_text(json.dumps({**settings, "files": digests}, indent=1), encoding="utf-8")


def _empty(port: GraphPort) -> tuple[str, list[int]]:
    """Return the type and the shape of an empty tensor, which the branch that does not run reads."""
    shape = [size if isinstance(size, int) else 0 for size in port.shape]
    return str(port.example.dtype).removeprefix("torch."), shape
