"""Files that are compressed where their name ends in .gz or .zst."""

import errno
import gzip
import io
import re
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

PACKED = (".gz", ".zst")
_PACKED_BYTES = 2**14  # unpacked at once


def open_packed(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a file for its bytes, unpacked. Raises OSError for .zst without the package zstandard."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(path, mode))
    if path.suffix == ".zst":
        return _open_zst(path, mode)
    return cast(BinaryIO, path.open(mode))


def unpacked_name(path: Path | str) -> str:
    """Return a path without the ending of its compression: `pairs.tsv.gz` → `pairs.tsv`."""
    return re.sub(r"\.(gz|zst)$", "", str(path))


def file_kind(path: Path | str) -> str:
    """Return the ending of a file's name without its compression, in lower case: `pairs.TSV.gz` → `tsv`."""
    return Path(unpacked_name(path)).suffix.removeprefix(".").lower()


def write_packed(path: Path) -> TextIO:
    """Open a file for text to be written into it, UTF-8."""
    return io.TextIOWrapper(open_packed(path, "wb"), encoding="utf-8")


class _ZstFile(RawIOBase):
    """An unpacked file. Damage, also an end within a frame, is an EOFError, as in gzip."""

    def __init__(self, path: Path, zstandard: Any) -> None:
        self._file = path.open("rb")
        self._frames = iter(zstandard.ZstdDecompressor().decompressobj, None)
        self._frame, self._damage = next(self._frames), zstandard.ZstdError
        self._packed, self._data, self._whole = b"", b"", True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._data and (packed := self._packed or self._file.read(_PACKED_BYTES)):
            self._unpack(packed)
        if not self._data and not self._whole:
            raise EOFError("it ends within a frame")
        count = min(len(buffer), len(self._data))
        buffer[:count], self._data = self._data[:count], self._data[count:]
        return count

    def _unpack(self, packed: bytes) -> None:
        try:
            self._data = self._frame.decompress(packed)
        except self._damage as error:
            raise EOFError(str(error)) from error
        self._packed, self._whole = b"", self._frame.eof
        if self._whole:
            self._packed, self._frame = self._frame.unused_data, next(self._frames)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_zst(path: Path, mode: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError as error:
        raise OSError(errno.ENOSYS, "needs zstandard: pip install -e '.[bulk]'", str(path)) from error
    if mode == "rb":
        return io.BufferedReader(_ZstFile(path, zstandard))
    return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(path.open(mode), closefd=True))
