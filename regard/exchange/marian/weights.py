"""Names and orientation of a translator's tensors here and in Marian's files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from regard.errors import CheckpointError
from regard.exchange.huggingface_weights import OUTPUT_BIAS, OUTPUT_TABLE, SOURCE_TABLE, TARGET_TABLE
from regard.exchange.marian.files import QUANT_MULT, StoredTensor, floats
from regard.exchange.marian.shape import AVERAGE_ATTENTION, SELF_ATTENTION, SSRU, NetworkShape
from regard.models import ROUTE
from regard.text.vector_table import Float32s
from regard.training.shards import Tensors

UNUSED_BIAS = -100.0  # of rows that stand for no piece of the other program: they get no probability
_LOGITS = "decoder_ff_logit_out"
_ATTENTION = {"q": "from_query", "k": "from_key", "v": "from_value", "o": "to_out"}


class TensorRow(NamedTuple):
    """A tensor here, and those of Marian that stand one behind another in it, each transposed."""

    ours: str
    theirs: tuple[str, ...]
    shape: tuple[int, int]  # of each of theirs

    @property
    def module(self) -> str:
        """Return the module that multiplies what it reads by the tensor."""
        return self.ours.removesuffix(".weight")


def tensor_rows(shape: NetworkShape) -> Iterator[TensorRow]:
    """Yield all tensors but the tables of pieces and the bias of the output."""
    for side, (prefix, theirs) in enumerate(
        ((f"encoders.{ROUTE}.encoder.blocks", "encoder"), (f"decoders.{ROUTE}.blocks", "decoder"))
    ):
        for layer in range(shape.layers[side]):
            ours, name = f"{prefix}.{layer}", f"{theirs}_l{layer + 1}"
            if side == 0 or shape.decoder == SELF_ATTENTION:
                yield from _attention(f"{ours}.own", f"{name}_self", shape)
            else:
                yield from _history(f"{ours}.history", name, shape)
                yield from _norm(f"{ours}.own_norm", f"{name}_{_HISTORY_NAMES[shape.decoder]}_ffn", shape.dim)
            if side == 1:
                yield from _attention(f"{ours}.cross", f"{name}_context", shape)
            yield from _linear(
                f"{ours}.feedforward.to_hidden", f"{name}_ffn", "1", (shape.dim, shape.feedforward[side])
            )
            yield from _linear(f"{ours}.feedforward.to_out", f"{name}_ffn", "2", (shape.feedforward[side], shape.dim))
            yield from _norm(f"{ours}.feedforward_norm", f"{name}_ffn_ffn", shape.dim)


_HISTORY_NAMES = {SSRU: "rnn", AVERAGE_ATTENTION: "aan"}


def our_weights(
    items: Mapping[str, StoredTensor], shape: NetworkShape, orders: tuple[Sequence[int], Sequence[int]], file: Path
) -> Tensors:
    """Return the tensors of a model file under our names; `orders` are ids there by ids here, of source and target.

    Raises CheckpointError where one is missing, has another shape or is not finite, and for one that no part here has.
    """
    left, found = dict(items), Tensors()

    def take(name: str, shape: tuple[int, ...]) -> Float32s:
        if name not in left:
            raise CheckpointError(file, f"has no tensor {name}", "its model.yml asks for it")
        value = floats(left.pop(name))
        if value.shape != shape and not (value.size == shape[-1] and shape[0] == 1):
            found, expected = (" × ".join(map(str, one)) for one in (value.shape, shape))
            raise CheckpointError(file, f"{name} has the shape {found}, and its model.yml asks for {expected}")
        if not np.isfinite(value).all():
            raise CheckpointError(file, f"{name} has numbers that are not finite")
        return value.reshape(shape)

    for row in tensor_rows(shape):
        joined = np.concatenate([take(name, row.shape).T for name in row.theirs])
        found[row.ours] = torch.from_numpy(
            np.ascontiguousarray(joined if row.ours.endswith("weight") and row.shape[0] > 1 else joined[:, 0])
        )
    (source, target), dim = shape.vocabularies, shape.dim
    if shape.tied == "all":
        found[SOURCE_TABLE] = _ordered(take("Wemb", (source, dim)), orders[0])
    else:
        found[SOURCE_TABLE] = _ordered(take("encoder_Wemb", (source, dim)), orders[0])
        found[TARGET_TABLE] = _ordered(take("decoder_Wemb", (target, dim)), orders[1])
    if shape.tied == "none":
        legacy = f"{_LOGITS}_W" in left
        table = take(f"{_LOGITS}_W", (dim, target)).T if legacy else take(f"{_LOGITS}_Wt", (target, dim))
        found[OUTPUT_TABLE] = _ordered(table, orders[1])
    has_bias = f"{_LOGITS}_b" in left
    bias = take(f"{_LOGITS}_b", (1, target)) if has_bias else np.zeros((1, target), np.float32)
    found[OUTPUT_BIAS] = _ordered(bias.T, orders[1], UNUSED_BIAS)[:, 0].contiguous()
    strange = [name for name in left if not name.endswith(QUANT_MULT) and not name.startswith("special:")]
    if strange:
        raise CheckpointError(file, f"has the tensor {strange[0]}, which no part here reads")
    return found


def marian_tensors(
    weights: Mapping[str, torch.Tensor], shape: NetworkShape, orders: tuple[Sequence[int], Sequence[int]]
) -> dict[str, Float32s]:
    """Return Marian's tensors; `orders` are our ids by theirs, -1 for one that stands for no piece."""
    found = dict[str, Float32s]()
    for row in tensor_rows(shape):
        value = weights[row.ours].detach().float().cpu().numpy()
        parts = np.split(value, len(row.theirs))
        found |= {
            name: np.ascontiguousarray(part.reshape(row.shape[::-1]).T)
            for name, part in zip(row.theirs, parts, strict=True)
        }
    (source, target) = (_table(weights[name]) for name in (SOURCE_TABLE, TARGET_TABLE))
    if shape.tied == "all":
        found["Wemb"] = _reordered(source, orders[0])
    else:
        found |= {"encoder_Wemb": _reordered(source, orders[0]), "decoder_Wemb": _reordered(target, orders[1])}
    if shape.tied == "none":
        found[f"{_LOGITS}_Wt"] = _reordered(_table(weights[OUTPUT_TABLE]), orders[1])
    found[f"{_LOGITS}_b"] = _reordered(_table(weights[OUTPUT_BIAS])[:, None], orders[1], UNUSED_BIAS).T.copy()
    return found


def _attention(ours: str, theirs: str, shape: NetworkShape) -> Iterator[TensorRow]:
    for letter, name in _ATTENTION.items():
        if letter != "o" or shape.out_proj:
            yield from _linear(f"{ours}.heads.{name}", theirs, letter, (shape.dim, shape.dim))
    yield from _norm(f"{ours}_norm", f"{theirs}_Wo", shape.dim)


def _history(ours: str, theirs: str, shape: NetworkShape) -> Iterator[TensorRow]:
    dim, name = shape.dim, f"{theirs}_{_HISTORY_NAMES[shape.decoder]}"
    if shape.decoder == SSRU:
        yield TensorRow(f"{ours}.layer.weight", (f"{name}_W", f"{name}_Wf"), (dim, dim))
        yield TensorRow(f"{ours}.layer.bias", (f"{name}_bf",), (1, dim))
        if shape.rnn_projection:
            yield from _linear(f"{ours}.out_proj", name, "o", (dim, dim))
        return
    yield from _linear(f"{ours}.feedforward.to_hidden", name, "1", (dim, shape.aan_dim))
    yield from _linear(f"{ours}.feedforward.to_out", name, "2", (shape.aan_dim, dim))
    if shape.aan_gate:
        yield from _linear(f"{ours}.gate.word", name, "i", (dim, dim))
        yield from _linear(f"{ours}.gate.average", name, "f", (dim, dim))


def _linear(ours: str, theirs: str, letter: str, shape: tuple[int, int]) -> Iterator[TensorRow]:
    yield TensorRow(f"{ours}.weight", (f"{theirs}_W{letter}",), shape)
    yield TensorRow(f"{ours}.bias", (f"{theirs}_b{letter}",), (1, shape[1]))


def _norm(ours: str, theirs: str, dim: int) -> Iterator[TensorRow]:
    yield TensorRow(f"{ours}.weight", (f"{theirs}_ln_scale",), (1, dim))
    yield TensorRow(f"{ours}.bias", (f"{theirs}_ln_bias",), (1, dim))


def _table(tensor: torch.Tensor) -> Float32s:
    found: Float32s = tensor.detach().float().cpu().numpy()
    return found


def _ordered(table: Float32s, order: Sequence[int], unused: float = 0.0) -> torch.Tensor:
    """Rows by ids here; ids beyond the table stand for no piece there."""
    more = np.full((max([*order, len(table) - 1]) + 1 - len(table), table.shape[1]), unused, np.float32)
    return torch.from_numpy(np.concatenate([table, more])[list(order)])


def _reordered(table: Float32s, order: Sequence[int], unused: float = 0.0) -> Float32s:
    """Rows by ids there."""
    more = np.full((1, table.shape[1]), unused, np.float32)
    return np.concatenate([table, more])[list(order)]
