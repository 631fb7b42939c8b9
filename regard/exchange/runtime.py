"""Folders of regard.runtime: a Transformer for the compiled engine, without torch around it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.errors import RegardError
from regard.exchange.ctranslate2 import most_places
from regard.exchange.format import Format, Program, not_exportable
from regard.exchange.graphs.formats import search_settings, write_pieces, write_settings
from regard.models import ROUTE
from regard.models.translator import Translator
from regard.ops.kernels.transformer import ACTIVATIONS, StandardAttention, StandardBlock
from regard.ops.quantization import row_scales
from regard.pieces import BOS, EOS, PAD, UNK
from regard.predictor import Predictor
from regard.predictor.engines.runtime import compiled_engine
from regard.runtime.engine import REALS
from regard.runtime.translator import WEIGHTS_NAME, RuntimeTranslator

_COMPILED = {"encoder": "transformer", "decoder": "transformer", "embedder": "words", "head": "linear"}
_ALIGNED = 64  # bytes: where each tensor begins
RuntimeWeights = Annotated[
    Literal["float32", "int8"], Doc("Numbers of the weights: int8 rounds them, as decoding.precision=int8 does.")
]
RuntimeTables = Annotated[
    Literal["float32", "int8"],
    Doc("Numbers of the embeddings; int8 is smaller, and a few texts differ from the run's."),
]


class RuntimeFormat(Format):
    """A folder that `regard.runtime` opens."""

    name = "runtime"
    aliases = "regard-runtime, regard_runtime"
    usage = '```bash\nregard predict FOLDER "TEXT"\n# without Regard: regard-runtime translate FOLDER "TEXT"\n```'
    reads = False

    def __init__(self, *, quantization: RuntimeWeights = "float32", tables: RuntimeTables = "float32") -> None:
        self.quantization, self.tables = quantization, tables
        self.min_similarity = 1.0 if quantization == tables == "float32" else 0.9

    def write(self, predictor: Predictor, folder: Path) -> None:
        search, network = search_settings(predictor, self.name), _network_of(predictor)
        named = write_pieces(predictor, folder)
        places = _written(network.tensors, folder / WEIGHTS_NAME, self.quantization == "int8", self.tables == "int8")
        data = predictor.run.experiment.data
        settings = {
            "program": self.name, "languages": None if data.source_augmentations else data.language_pair(),
            "search": search, "max_source": predictor.encoder.max_source, **named,
            "max_target": network.max_target, "shape": network.shape, "reals": network.reals, "tensors": places,
        }  # fmt: skip
        write_settings(settings, folder)

    def program(self, folder: Path, predictor: Predictor) -> Program | None:
        return RuntimeProgram(folder)


class RuntimeProgram(Program):
    """The engine on a folder."""

    name = "regard.runtime"

    def __init__(self, folder: Path) -> None:
        self._translator = RuntimeTranslator(folder, library=compiled_engine())

    def translate(self, texts: Sequence[str]) -> list[str]:
        return self._translator.translate(texts, safeguards=False)


class _Matrix(NamedTuple):
    """A weight (outputs, inputs) and its bias, or none; without a weight the network has none there."""

    weight: Tensor | None = None
    bias: Tensor | None = None
    looked_up: bool = False  # row by row: 8 bits are for products alone


class _Network(NamedTuple):
    """A network as the engine takes it."""

    shape: dict[str, int]
    reals: dict[str, float]
    tensors: list[_Matrix | Tensor | None]  # in the order of engine.cpp; a matrix is three there
    max_target: int


@torch.no_grad()
def _network_of(predictor: Predictor) -> _Network:
    """Take a translator apart. Raises RegardError for one with parts that are not compiled."""
    settings = predictor.run.experiment.model.settings
    for name, wanted in _COMPILED.items():
        if settings[name].name != wanted:
            raise _refused(f"model.{name} is {settings[name].name!r}")
    model = cast(Translator, predictor.model)
    reader, decoder, head = (cast(Any, one) for one in model.along(ROUTE))
    places = most_places(predictor)
    source, target = (one.embedder.word_sum(None, places) for one in (reader, decoder))
    if source is None or target is None or reader.language is not None:
        raise _refused("model.embedder concatenates positions, or adds a language")
    stacks = [[_standard(block) for block in one.blocks] for one in (reader.encoder, decoder)]
    first, second = (stack[0] for stack in stacks)
    if len({(one.pre, *one.feedforward[2:], one.norms[0].eps) for stack in stacks for one in stack}) > 1:
        raise _refused("its encoder and decoder have different norms or activations")
    if second.cross is None:
        raise _refused("its decoder does not attend to the source")
    shape = {
        "dim": reader.encoder.dim, "pre": int(first.pre), "activation": ACTIVATIONS.index(first.feedforward.activation),
        "encoder_layers": len(stacks[0]), "decoder_layers": len(stacks[1]), "encoder_heads": first.own.num_heads,
        "own_heads": second.own.num_heads, "cross_heads": second.cross.num_heads, "zero_begin": int(target.zero_begin),
        "aligned_layer": decoder.alignment_layer, "padding": PAD, "begin": BOS, "end": EOS, "unknown": UNK,
    }  # fmt: skip
    reals = dict(zip(REALS, (source.scale, target.scale, first.feedforward.slope, first.norms[0].eps), strict=True))
    written = _Matrix() if target.table is source.table else _Matrix(target.table, looked_up=True)
    tensors = [_Matrix(source.table, looked_up=True), written, source.places, target.places]
    for stack, norm in zip(stacks, (reader.encoder.norm, decoder.norm), strict=True):
        tensors += [one for block in stack for one in _block(block)] + _norm(norm)
    longest = model.longest(predictor.task.batch([{"source": [EOS + 2], "target": []}]))
    most = places if longest is None else min(places, longest)
    return _Network(shape, reals, [*tensors, _Matrix(head.weight, head.bias)], most)


def _standard(block: Any) -> StandardBlock:
    found: StandardBlock | None = block.standard()
    if found is None:
        raise _refused("a layer of it is not compiled")
    return found


def _block(block: StandardBlock) -> list[_Matrix | Tensor | None]:
    """The tensors of a block in the order of engine.cpp."""
    norms = [one for norm in block.norms for one in _norm(norm)]
    if isinstance(block.own, StandardAttention):
        own = [_joined(block.own.scale, *block.own.layers[:3]), _joined(None, block.own.out)]
    else:
        unit: Any = block.own.unit
        bias = torch.cat([torch.zeros_like(unit.bias), unit.bias])
        own = [_Matrix(unit.weight, bias), _Matrix() if block.own.out is None else _joined(None, block.own.out)]
    cross = [_Matrix()] * 3
    if block.cross is not None:
        one = block.cross
        cross = [_joined(one.scale, one.query), _joined(None, one.key, one.value), _joined(None, one.out)]
    return [*norms, *own, *cross, _joined(None, block.feedforward.hidden), _joined(None, block.feedforward.out)]


def _norm(norm: nn.Module | None) -> list[_Matrix | Tensor | None]:
    return [norm.weight, norm.bias] if isinstance(norm, nn.LayerNorm) else [None, None]


def _joined(scale: float | None, *layers: nn.Linear) -> _Matrix:
    """Layers with the same inputs as one; the first one times `scale`."""
    weights = [one.weight.detach() for one in layers]
    biases = [torch.zeros(len(one.weight)) if one.bias is None else one.bias.detach() for one in layers]
    if scale is not None:
        weights[0], biases[0] = weights[0] * scale, biases[0] * scale
    return _Matrix(torch.cat(weights), torch.cat(biases))


def _written(
    tensors: Sequence[_Matrix | Tensor | None], file: Path, eight: bool, eight_tables: bool
) -> list[list[int] | None]:
    """Write tensors one behind another; return offset, rows, columns and bytes of a number of each.

    None stands for one that is not there. A matrix is three: numbers, scales of 8 bits, bias. Equal tensors are written
    once.
    """
    flat = list[Tensor | None]()
    for one in tensors:
        if not isinstance(one, _Matrix):
            flat.append(one)
        elif one.weight is None:
            flat += [None] * 3
        else:
            flat += [*_numbers(one.weight.detach(), eight_tables if one.looked_up else eight), one.bias]
    places, known = list[list[int] | None](), dict[bytes, list[int]]()
    with file.open("wb") as out:
        for tensor in flat:
            if tensor is None:
                places.append(None)
                continue
            rows = torch.atleast_2d(tensor.detach().contiguous())
            content = rows.numpy().tobytes()
            if (key := hashlib.sha256(content).digest()) not in known:
                out.write(bytes(-out.tell() % _ALIGNED))
                known[key] = [out.tell(), *rows.shape, rows.element_size()]
                out.write(content)
            places.append([known[key][0], *rows.shape, rows.element_size()])
    return places


def _numbers(weight: Tensor, eight: bool) -> tuple[Tensor, Tensor | None]:
    """A weight as it is, or in 8 bits with its scales: w = scale · (u - 128)."""
    if not eight:
        return weight, None
    scales = row_scales(weight)
    return (weight / scales.unsqueeze(1)).round_().add_(128).to(torch.uint8), scales


def _refused(problem: str) -> RegardError:
    return not_exportable(problem, "a plain Transformer; --to onnx carries any translator", "runtime")
