"""Checks zip archives from untrusted clients before they are unpacked."""

import zlib
from io import BytesIO
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo

from regard.documents.files.base import FileError

ENTRIES = 2_000
_UNPACKED = 64 << 20  # bytes in all
_RATIO = 200  # most unpacked bytes per packed byte; text has 10, zeros have 1,000
_SMALL = 1 << 20  # bytes; smaller entries may have any ratio


def check_archive(data: bytes) -> None:
    """Raise FileError unless the data are a zip archive with safe names and a limited unpacked size."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > ENTRIES:
                raise FileError(f"the file has more than {ENTRIES} parts")
            if sum(entry.file_size for entry in entries) > _UNPACKED:
                raise FileError(f"the file unpacks to more than {_UNPACKED >> 20} MiB")
            for entry in entries:
                _check_entry(archive, entry)
    except (
        BadZipFile,
        LargeZipFile,
        NotImplementedError,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        zlib.error,
    ) as error:
        raise FileError("the file is broken or is not what its name says") from error


def _check_entry(archive: ZipFile, entry: ZipInfo) -> None:
    name = entry.filename.replace("\\", "/")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise FileError("the file has a part whose name leads out of it")
    if entry.flag_bits & 0x1:
        raise FileError("the file is encrypted")
    if entry.file_size > _SMALL and entry.file_size > _RATIO * max(1, entry.compress_size):
        raise FileError("the file is packed too tightly to be a document")
    if name.endswith((".xml", ".rels")):
        content = archive.read(entry)  # never more bytes than the entry declares
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise FileError("the file declares entities of its own")
