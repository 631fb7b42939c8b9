"""Tensors of other programs' files: sizes are checked by the header before anything is read into memory."""

import struct
import zipfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.config import parse_json
from regard.errors import CheckpointError
from regard.training.shards import Tensors

WEIGHTS_FILE, PICKLE_FILE = "model.safetensors", "pytorch_model.bin"
_LARGEST_HEADER = 100_000_000  # bytes, the limit of the library
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


class ExpectedTensor(NamedTuple):
    """A tensor that a config asks for."""

    name: str
    shape: tuple[int, ...]


def read_weights(folder: Path, *, allow_pickle: bool) -> tuple[Tensors, str]:
    """Return the tensors of a folder of Hugging Face as float32, and the name of their file.

    Raises CheckpointError where there are none, where they are cut short, and for a pickle unless it is allowed: it is
    read by torch's loader of weights alone, which runs no code.
    """
    file, pickled = folder / WEIGHTS_FILE, folder / PICKLE_FILE
    if file.is_file():
        check_safetensors(file)
        return _widened(_loaded(file)), file.name
    if (folder / f"{WEIGHTS_FILE}.index.json").is_file():
        hint = "model.save_pretrained(FOLDER, max_shard_size='100GB')"
        raise CheckpointError(folder, "has its weights in several files", hint)
    if not pickled.is_file():
        raise CheckpointError(folder, f"has no {WEIGHTS_FILE}", "model.save_pretrained(FOLDER)")
    if not allow_pickle:
        problem = f"has its weights in {PICKLE_FILE}, a pickle, which may run any code when it is read"
        raise CheckpointError(folder, problem, "--allow-pickle reads its weights alone")
    return _widened(_unpickled(pickled)), pickled.name


def check_safetensors(file: Path) -> None:
    """Raise CheckpointError where a file is shorter or longer than its header says, or the header is damaged."""
    size = file.stat().st_size
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > min(_LARGEST_HEADER, size):
                raise ValueError("its header is longer than the file")
            header = parse_json(opened.read(length))
        tensors = {name: one for name, one in header.items() if name != "__metadata__"}
        end = max((one["data_offsets"][1] for one in tensors.values()), default=0)
        for name, one in tensors.items():
            start, stop = one["data_offsets"]
            if stop - start != _BYTES.get(one["dtype"], 0) * _count(one["shape"]):
                raise ValueError(f"{name} has another size than its shape says")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise CheckpointError(file, f"is damaged: {error}") from error
    if size != 8 + length + end:
        problem = f"has {size:,} bytes, and its header asks for {8 + length + end:,}"
        raise CheckpointError(file, problem, "it was cut short: fetch it again")


def take(state: Mapping[str, Tensor], expected: ExpectedTensor, file: Path) -> Tensor:
    """Return a tensor. Raises CheckpointError where it is missing, has another shape, or is not finite."""
    name, sizes = expected
    if name not in state:
        raise CheckpointError(file, f"has no tensor {name}", "config.json asks for it")
    if state[name].shape != sizes:
        found, asked = (" × ".join(map(str, one)) or "no axis" for one in (state[name].shape, sizes))
        raise CheckpointError(file, f"{name} has the shape {found}, and config.json asks for {asked}")
    total = state[name].sum()  # of a sum all are finite; one that is not may be too large alone
    if not bool(total.isfinite()) and not bool(state[name].isfinite().all()):
        raise CheckpointError(file, f"{name} has numbers that are not finite")
    return state[name]


def _count(shape: list[int]) -> int:
    if any(type(one) is not int or one < 0 for one in shape):
        raise ValueError("a shape is not made of whole numbers")
    return prod(shape)


def _loaded(file: Path) -> Tensors:
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error


def _unpickled(file: Path) -> Tensors:
    """The tensors of a checkpoint of torch: `weights_only` builds tensors and nothing else."""
    if not zipfile.is_zipfile(file):
        raise CheckpointError(file, "is not a checkpoint of torch 1.6 or later, or it was cut short")
    try:
        with zipfile.ZipFile(file) as opened:
            unpacked = sum(one.file_size for one in opened.infolist())
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise CheckpointError(file, f"is damaged: {error}") from error
    if unpacked > file.stat().st_size:  # torch writes its parts as they are
        raise CheckpointError(file, f"says it has {unpacked:,} bytes, more than the file")
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickles fail in many ways
        line = str(error).strip().splitlines()[0]
        raise CheckpointError(file, f"cannot be read as weights alone: {line:.200}") from error
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise CheckpointError(file, "holds more than tensors by name")
    for name, one in found.items():
        if one.layout != torch.strided or one.nbytes > one.untyped_storage().nbytes():
            raise CheckpointError(file, f"{name} has fewer numbers than its shape says")
    return found


def _widened(state: Mapping[str, Tensor]) -> Tensors:
    return {name: one.float() if one.is_floating_point() else one for name, one in state.items()}
