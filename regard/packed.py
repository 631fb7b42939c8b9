"""Files that are compressed where their name ends in .gz."""

import gzip
from pathlib import Path
from typing import BinaryIO, TextIO, cast


def open_packed(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a file for its bytes, unpacked."""
    return cast(BinaryIO, gzip.GzipFile(path, mode) if path.suffix == ".gz" else path.open(mode))


def write_packed(path: Path) -> TextIO:
    """Open a file for text to be written into it, UTF-8."""
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8")
    return path.open("w", encoding="utf-8")
