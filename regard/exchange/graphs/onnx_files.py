"""Traced graphs as ONNX files: the encoder, and both graphs of the decoder as branches of one file.

The file of the decoder is that of optimum's decoder_model_merged.onnx: use_cache_branch chooses, and weights stand
there once.
"""

import hashlib
import logging
import warnings
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.exchange.graphs.ports import PAST_AXIS, GraphPort
from regard.exchange.graphs.programs import Graph, Graphs
from regard.predictor.engines.translator import DECODER_GRAPH, ENCODER_GRAPH, present

BRANCH = "use_cache_branch"
OPSET = 18
_SHARED = 1024  # bytes from which weights of both branches are compared


def write_onnx(graphs: Graphs, folder: Path) -> None:
    """Write encoder_model.onnx and decoder_model_merged.onnx."""
    import onnx

    onnx.save(_model(graphs.encoder, graphs.encoder.outputs), folder / f"{ENCODER_GRAPH}.onnx")
    onnx.save(_merged(graphs), folder / f"{DECODER_GRAPH}_merged.onnx")


def _model(graph: Graph, outputs: Sequence[GraphPort]) -> Any:
    """Return a graph as a model of ONNX, with the names of its ports."""
    names = [one.name for one in graph.inputs], [one.name for one in outputs]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        made: Any = torch.onnx.export(
            graph.program, (), None, input_names=names[0], output_names=names[1], opset_version=OPSET, dynamo=True,
            optimize=True, verbose=False,
        )  # fmt: skip
    model = made.model_proto
    del model.graph.input[:], model.graph.output[:], model.graph.value_info[:]
    model.graph.input.extend(_infos(graph.inputs))
    model.graph.output.extend(_infos(outputs))
    model.producer_name, model.doc_string = "regard", ""
    for node in _nodes(model.graph.node):
        node.doc_string = ""
        del node.metadata_props[:]
    return model


def _merged(graphs: Graphs) -> Any:
    """Return one model whose branches are the first and the later steps."""
    from onnx import TensorProto, helper

    states = graphs.states
    first, later = (_model(one, _present(one.outputs)) for one in (graphs.first, graphs.later))
    shared = _take_shared(first.graph, later.graph)
    order = [one.name for one in first.graph.output]
    for one in states.fixed:  # what no step changes comes out empty, as optimum has it
        _add_empty(later.graph, present(one.name), one)
    found = {one.name: one for one in later.graph.output}
    del later.graph.output[:]
    later.graph.output.extend(found[name] for name in order)
    inputs = {one.name: one for one in (*graphs.first.inputs, *graphs.later.inputs)}
    for name, graph in (("first", first.graph), ("later", later.graph)):
        _prefix(graph, f"{name}/", {*inputs, *(one.name for one in shared)})
    branches = {"else_branch": first.graph, "then_branch": later.graph}
    for graph in branches.values():
        del graph.input[:]
    node = helper.make_node("If", [BRANCH], order, name="choose_branch", **branches)
    flag = helper.make_tensor_value_info(BRANCH, TensorProto.BOOL, [1])
    outputs = _infos(_present(graphs.first.outputs))
    whole = helper.make_graph([node], "decoder", [*_infos(inputs.values()), flag], outputs, initializer=shared)
    model = helper.make_model(whole, opset_imports=first.opset_import, producer_name="regard")
    model.ir_version = first.ir_version
    model.functions.extend(_functions(first, later))
    return model


def _present(ports: Iterable[GraphPort]) -> list[GraphPort]:
    return [one._replace(name=present(one.name)) for one in ports]


def _infos(ports: Iterable[GraphPort]) -> list[Any]:
    """Return ports as inputs or outputs of ONNX; a past that comes out has one word more than the one that comes in."""
    from onnx import helper

    found = []
    for one in ports:
        more = {PAST_AXIS: "decoder_sequence_length"} if one.name.startswith("present") else {}
        shape = [more.get(size, size) if isinstance(size, str) else size for size in one.shape]
        found.append(helper.make_tensor_value_info(one.name, _type(one.example), shape))
    return found


def _type(example: Tensor) -> int:
    from onnx import TensorProto

    return {torch.float32: TensorProto.FLOAT, torch.int64: TensorProto.INT64, torch.bool: TensorProto.BOOL}[
        example.dtype
    ]


def _take_shared(first: Any, later: Any) -> list[Any]:
    """Take weights that both graphs hold out of them, named by their content."""
    digests = [{_digest(one): one for one in graph.initializer if _size(one) >= _SHARED} for graph in (first, later)]
    common = digests[0].keys() & digests[1].keys()
    for graph in (first, later):
        names = {one.name: f"shared/{_digest(one)}" for one in graph.initializer if _size(one) >= _SHARED}
        names = {name: new for name, new in names.items() if new.removeprefix("shared/") in common}
        kept = [one for one in graph.initializer if one.name not in names]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        _rename(graph, names)
    found = []
    for digest in sorted(common):
        digests[0][digest].name = f"shared/{digest}"
        found.append(digests[0][digest])
    return found


def _size(tensor: Any) -> int:
    return len(tensor.raw_data)


def _digest(tensor: Any) -> str:
    shape = ",".join(map(str, tensor.dims))
    return hashlib.sha256(f"{tensor.data_type} {shape} ".encode() + tensor.raw_data).hexdigest()[:16]


def _add_empty(graph: Any, name: str, port: GraphPort) -> None:
    """Add an output that has no rows."""
    from onnx import helper

    shape = [0] + [size if isinstance(size, int) else 1 for size in port.shape[1:]]
    value = helper.make_tensor(f"{name}/value", _type(port.example), shape, [])
    graph.node.append(helper.make_node("Constant", [], [name], value=value))
    graph.output.append(helper.make_tensor_value_info(name, _type(port.example), None))


def _prefix(graph: Any, prefix: str, outer: set[str]) -> None:
    """Give each value of a branch a name of its own, but for what it reads from outside and what it returns."""
    names = [name for node in _nodes(graph.node) for name in (*node.input, *node.output)]
    names += [one.name for one in graph.initializer]
    names += [one.name for inner in _graphs(graph) for one in (*inner.input, *inner.output, *inner.initializer)]
    _rename(graph, {name: prefix + name for name in names if name and name not in outer})
    for node in graph.node:
        node.name = prefix + node.name
    for one in graph.output:
        one.name = one.name if one.name.startswith(prefix) else prefix + one.name


def _rename(graph: Any, names: dict[str, str]) -> None:
    for inner in (graph, *_graphs(graph)):
        for one in (*inner.input, *inner.output, *inner.initializer, *inner.value_info):
            one.name = names.get(one.name, one.name)
    for node in _nodes(graph.node):
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]


def _nodes(nodes: Iterable[Any]) -> list[Any]:
    """Nodes with those of the graphs inside them."""
    found = []
    for node in nodes:
        found.append(node)
        for one in node.attribute:
            found += _nodes(one.g.node) if one.HasField("g") else []
    return found


def _graphs(graph: Any) -> list[Any]:
    """The graphs inside a graph."""
    found = []
    for node in graph.node:
        for one in node.attribute:
            found += [one.g, *_graphs(one.g)] if one.HasField("g") else []
    return found


def _functions(first: Any, later: Any) -> list[Any]:
    return list({(one.domain, one.name): one for model in (first, later) for one in model.functions}.values())
