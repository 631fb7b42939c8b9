"""Marian's model files: model.npz, and model.bin, which may be mapped into memory and may hold 8-bit weights.

Sizes are checked against the length of the file before memory is taken.
"""

import io
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import CheckpointError
from regard.text.vector_table import Float32s

FLOAT32, INT8, INTGEMM8, INTGEMM8_OF_MARIAN = 0x404, 0x101, 0x4101, 0x10001  # codes of types in model.bin
INTGEMM8_CODES = (INTGEMM8, INTGEMM8_OF_MARIAN)  # Bergamot's fork, marian-dev
EMBEDDINGS, QUANT_MULT = "Wemb", "_QuantMultA"
_PRODUCT = re.compile(r"_W.?$")  # names of the weights of products


class Quantised(NamedTuple):
    """An 8-bit weight."""

    elements: NDArray[np.int8]  # (in, out), and of embeddings (vocab, dim)
    multiplier: float

    def floats(self) -> Float32s:
        """Return what the elements stand for."""
        return self.elements.astype(np.float32) / np.float32(self.multiplier)


StoredTensor = Float32s | Quantised


def is_product(name: str) -> bool:
    """Return whether intgemm has the tensor of this name in 8 bits: weights of products and embeddings."""
    return not name.endswith(QUANT_MULT) and (EMBEDDINGS in name or _PRODUCT.search(name) is not None)


def is_transposed(name: str) -> bool:
    """Return whether an 8-bit tensor of this name stands transposed in a file."""
    return EMBEDDINGS not in name


def quantised(weight: Float32s) -> Quantised:
    """Return a weight in 8 bits."""
    largest = float(np.abs(weight).max(initial=0.0))
    multiplier = np.float32(127.0) / np.float32(largest) if largest > 0 else np.float32(1.0)
    elements = np.clip(np.rint(weight * multiplier), -127, 127).astype(np.int8)
    return Quantised(elements, float(multiplier))


def floats(item: StoredTensor) -> Float32s:
    """Return a tensor in single precision."""
    return item.floats() if isinstance(item, Quantised) else item


CONFIG_ITEM = "special:model.yml"
_VERSION, _ALIGNMENT = 1, 256
_MOST_TENSORS, _LONGEST_NAME, _MOST_AXES = 100_000, 1000, 8
_LARGEST_CONFIG = 10_000_000  # bytes
_MOST_PACKED, _SMALL = 16, 64 << 20  # times that weights can be packed; bytes that any file may unpack to
_AGAIN = "it was cut short or changed: fetch it again"


class MarianModel(NamedTuple):
    """The content of a model file."""

    config: str  # YAML
    items: Mapping[str, StoredTensor]


class _Header(NamedTuple):
    name: str
    code: int
    shape: tuple[int, ...]
    size: int  # bytes


def read_model(file: Path) -> MarianModel:
    """Read a model.npz or a model.bin. Raises CheckpointError for one that is missing, damaged or of another kind."""
    try:
        return _read_npz(file) if file.suffix == ".npz" else _read_bin(file)
    except OSError as error:
        raise CheckpointError(file, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, EOFError, struct.error, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise CheckpointError(file, f"is damaged: {error}", _AGAIN) from error


def write_npz(file: Path, config: str, items: Mapping[str, Float32s]) -> None:
    """Write a model.npz."""
    text: Any = np.frombuffer(_ended(config), dtype=np.int8)
    arrays: dict[str, Any] = {**items, CONFIG_ITEM: text}
    with file.open("wb") as opened:
        np.savez(opened, **arrays)


def write_bin(file: Path, config: str, items: Mapping[str, StoredTensor]) -> None:
    """Write a model.bin; 8-bit weights under the type of Bergamot's fork."""
    found: dict[str, tuple[int, tuple[int, ...], bytes]] = {
        name: _raw(name, item) for name, item in sorted(items.items())
    }
    text = _ended(config)
    found[CONFIG_ITEM] = INT8, (len(text),), text
    head = struct.pack("<QQ", _VERSION, len(found))
    names = [name.encode() + b"\0" for name in found]
    for name, (code, shape, content) in zip(names, found.values(), strict=True):
        head += struct.pack("<QQQQ", len(name), code, len(shape), _aligned(len(content)))
    head += b"".join(names)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, shape, _ in found.values())
    padding = ((len(head) + 8) // _ALIGNMENT + 1) * _ALIGNMENT - len(head) - 8
    with file.open("wb") as opened:
        opened.write(head + struct.pack("<Q", padding) + bytes(padding))
        for _, _, content in found.values():
            opened.write(content + bytes(_aligned(len(content)) - len(content)))


def _raw(name: str, item: StoredTensor) -> tuple[int, tuple[int, ...], bytes]:
    """Type, shape and bytes of a tensor."""
    if not isinstance(item, Quantised):
        return FLOAT32, item.shape, np.ascontiguousarray(item, dtype="<f4").tobytes()
    stored = item.elements.T if is_transposed(name) else item.elements
    content = np.ascontiguousarray(stored).tobytes() + struct.pack("<f", item.multiplier)
    return INTGEMM8, item.elements.shape, content


def _ended(config: str) -> bytes:
    return config.encode() + b"\0"


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _read_npz(file: Path) -> MarianModel:
    config, items, room = None, dict[str, StoredTensor](), _MOST_PACKED * file.stat().st_size + _SMALL
    with zipfile.ZipFile(file) as opened:
        if (total := sum(member.file_size for member in opened.infolist())) > room:
            raise ValueError(f"it says it has {total:,} bytes unpacked, and {room:,} can be read")
        for member in opened.infolist():
            name = member.filename.removesuffix(".npy")
            with opened.open(member) as content:
                array = _read_array(content, member.file_size, limit=_room(file, member))
            if name == CONFIG_ITEM:
                config = _config_text(array.tobytes())
            elif array.dtype != np.float32:
                raise ValueError(f"{name} holds numbers of the type {array.dtype}, and float32 is read")
            else:
                items[name] = array
    return MarianModel(_given(config), items)


def _room(file: Path, member: zipfile.ZipInfo) -> int:
    """Most bytes that a member of a zip file can be ungzipped to: deflate makes at most 1,032 of one."""
    return min(member.compress_size, file.stat().st_size) * (1 if member.compress_type == zipfile.ZIP_STORED else 1032)


def _read_array(content: Any, size: int, limit: int) -> Any:
    """A .npy file of `size` bytes, whose header must ask for exactly these."""
    if size > limit:
        raise ValueError(f"a part says it has {size:,} bytes, and {limit:,} are there")
    magic = np.lib.format.read_magic(content)
    if magic not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has the format {magic}")
    read = np.lib.format.read_array_header_1_0 if magic == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read(content, max_header_size=10_000)
    header = content.tell()
    if by_columns or kind.hasobject or header + prod(shape) * kind.itemsize != size:
        raise ValueError(f"an array of shape {shape} is not as long as its header says")
    return np.frombuffer(content.read(), dtype=kind).reshape(shape).copy()


def _read_bin(file: Path) -> MarianModel:
    size, config, items = file.stat().st_size, None, dict[str, StoredTensor]()
    with file.open("rb") as opened:
        for header in list(_headers(opened, size)):
            content = _exactly(opened, header.size)
            if header.name == CONFIG_ITEM:
                config = _config_text(content)
            elif header.code == FLOAT32:
                items[header.name] = _array(content, "<f4", header)
            elif header.code in INTGEMM8_CODES:
                items[header.name] = _quantised(content, header)
            else:
                raise ValueError(f"{header.name} has the type {header.code:#x}, and float32 and intgemm8 are read")
    return MarianModel(_given(config), items)


def _headers(opened: BinaryIO, size: int) -> Iterator[_Header]:
    """Yield the headers; what follows are the data, whose sizes add up to the end of the file."""
    version, count = struct.unpack("<QQ", _exactly(opened, 16))
    if version != _VERSION:
        raise ValueError(f"version {version} is not {_VERSION}, so it is not a model.bin")
    if count > min(_MOST_TENSORS, size // 32):
        raise ValueError(f"it says it has {count:,} tensors")
    numbers = [struct.unpack("<QQQQ", _exactly(opened, 32)) for _ in range(count)]
    if any(length > _LONGEST_NAME or axes > _MOST_AXES for length, _, axes, _ in numbers):
        raise ValueError("a name or a shape is too long")
    names = [_exactly(opened, length).rstrip(b"\0").decode() for length, *_ in numbers]
    shapes = [struct.unpack(f"<{axes}i", _exactly(opened, 4 * axes)) for _, _, axes, _ in numbers]
    (padding,) = struct.unpack("<Q", _exactly(opened, 8))
    if padding > size:
        raise ValueError("its padding is longer than the file")
    _exactly(opened, padding)
    total = opened.tell() + sum(length for *_, length in numbers)
    if total != size:
        raise ValueError(f"it has {size:,} bytes, and its header asks for {total:,}")
    for name, shape, (_, code, _, length) in zip(names, shapes, numbers, strict=True):
        width = {FLOAT32: 4, INT8: 1}.get(code, 1)
        if any(one < 0 for one in shape) or prod(shape) * width + 4 * (code in INTGEMM8_CODES) > length:
            raise ValueError(f"{name} of shape {shape} has {length:,} bytes")
        yield _Header(name, code, shape, length)


def _exactly(opened: BinaryIO, size: int) -> bytes:
    found = opened.read(size)
    if len(found) != size:
        raise ValueError("it ends too early")
    return found


def _array(content: bytes, kind: str, header: _Header) -> Float32s:
    return np.frombuffer(content, dtype=kind, count=prod(header.shape)).reshape(header.shape).astype(np.float32)


def _quantised(content: bytes, header: _Header) -> Quantised:
    count = prod(header.shape)
    elements = np.frombuffer(content, dtype=np.int8, count=count)
    (multiplier,) = struct.unpack_from("<f", content, count)
    if not np.isfinite(multiplier) or multiplier <= 0:
        raise ValueError(f"the multiplier of {header.name} is {multiplier}")
    if not is_transposed(header.name):
        return Quantised(elements.reshape(header.shape).copy(), multiplier)
    return Quantised(elements.reshape(header.shape[::-1]).T.copy(), multiplier)


def _config_text(content: bytes) -> str:
    if len(content) > _LARGEST_CONFIG:
        raise ValueError(f"{CONFIG_ITEM} has {len(content):,} bytes")
    return io.BytesIO(content).read().split(b"\0", 1)[0].decode()


def _given(config: str | None) -> str:
    if not config:
        raise ValueError(f"it has no {CONFIG_ITEM}")
    return config
