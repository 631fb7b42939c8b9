"""A data set on disk: cleaned text, ids and offsets, memory-mapped, so that it may be larger than memory."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data import sealed
from regard.data.building import LINES, SKIPPED, ReadingProgress, build, ids_path, text_path
from regard.data.examples import Codec
from regard.data.ragged import Ragged
from regard.data.readers.lines import check, digest
from regard.data.readers.reader import Reader
from regard.data.report import CorpusReport
from regard.errors import DataError
from regard.text.clean import VERSION

_FORMAT = 2  # of the files; another one is another cache
MAX_TOKENS = 256
ATTEMPTS = 4  # one to build and one to open, and the same again if another process comes between

Stamp = tuple[int, int]  # size and time of the last change


class Corpus:
    """The examples of a reader that can be used, numbered from 0; ids have neither BOS nor EOS."""

    def __init__(self, folder: Path, content: Mapping[str, Any], place: str) -> None:
        """A folder as `Corpus.open` makes it; `place` is what faults of its texts name."""
        self.folder, self.key, self.place = folder, folder.name, place
        self.columns: tuple[str, ...] = tuple(content["columns"])
        self.max_tokens: int | None = content["max_tokens"]  # None: every line was kept
        self.report = _report(folder, content)
        self.lines: Longs = _mapped(folder / LINES, np.dtype(np.int64))  # in the reader's files, from 1
        self._ids = {
            column: _ragged(ids_path(folder, column), np.dtype(name)) for column, name in content["ids"].items()
        }
        self._texts = {column: _ragged(text_path(folder, column), np.dtype(np.uint8)) for column in self.columns}

    @classmethod
    def open(
        cls,
        reader: Reader,
        codecs: Mapping[str, Codec],
        cache: Path,
        *,
        max_tokens: int | None = MAX_TOKENS,
        progress: ReadingProgress | None = None,
    ) -> "Corpus":
        """The corpus of a reader, out of `cache` if it is there and whole, else built there.

        Columns without a codec keep their text only. Examples with an empty column or with more than `max_tokens`
        ids in one (EOS not counted) are skipped and told by `report`; with `max_tokens` None every example is kept.
        DataError: a file cannot be used, or nothing of it is left. What is in `cache` is keyed by the files' content,
        the cleaning, the codecs and the limit.
        """
        before = [_stamp(path) for path in reader.files]
        place = cache / _key(reader, codecs, max_tokens)
        for _ in range(ATTEMPTS):
            content = sealed.unseal(place)
            if content is None:
                _build(place, reader, codecs, max_tokens, before, progress)
                continue
            with suppress(FileNotFoundError):  # another process is just replacing what it found damaged
                return cls(place, content, reader.place)
        raise DataError(place, "what is written there does not read back the same", hint="is the disk damaged?")

    def __len__(self) -> int:
        return len(self.lines)

    def lengths(self, column: str) -> NDArray[np.int32]:
        """Numbers of ids (count,), EOS not counted."""
        return self._ids[column].lengths()

    def pieces(self, column: str) -> Ragged:
        """The ids of all examples, one after the other."""
        return self._ids[column]

    def ids(self, column: str, line: int) -> NDArray[Any]:
        """The ids of one example."""
        return self._ids[column].row(line)

    def gather(self, column: str, lines: Longs) -> tuple[NDArray[Any], Longs]:
        """The ids of several examples one after the other, and how many each has."""
        return self._ids[column].gather(lines)

    def text(self, column: str, line: int) -> str:
        """The cleaned text of one example."""
        return self._texts[column].row(line).tobytes().decode()


def _ragged(paths: tuple[Path, Path], dtype: np.dtype[Any]) -> Ragged:
    return Ragged(_mapped(paths[0], dtype), _mapped(paths[1], np.dtype(np.int64)))


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _key(reader: Reader, codecs: Mapping[str, Codec], max_tokens: int | None) -> str:
    """What decides the content of the cache."""
    parts = {
        "format": _FORMAT,
        "cleaning": VERSION,
        "tokenizers": {column: one.key() for column, one in codecs.items()},
        "max_tokens": max_tokens,
        "reader": reader.key(),
        "files": [digest(path).hex() for path in reader.files],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _stamp(path: Path) -> Stamp:
    check(path)
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _build(
    place: Path,
    reader: Reader,
    codecs: Mapping[str, Codec],
    max_tokens: int | None,
    before: Sequence[Stamp],
    progress: ReadingProgress | None,
) -> None:
    """Puts a corpus in its place, unless the files are no longer those the place is named after."""
    try:
        with sealed.making(place) as folder:
            content = build(folder, reader, codecs, max_tokens, progress)
            if not content["kept"]:
                raise DataError(reader.place, f"no example can be used: {_report(folder, content)}")
            for path, stamp in zip(reader.files, before, strict=True):
                if _stamp(path) != stamp:
                    raise DataError(path, "was changed while it was read")
            sealed.seal(folder, content)
            sealed.publish(folder, place)
    except OSError as error:
        raise DataError(place.parent, f"the data cache cannot be written: {error.strerror or error}") from error


def _report(folder: Path, content: Mapping[str, Any]) -> CorpusReport:
    first = {reason: tuple(lines) for reason, lines in content["first"].items()}
    return CorpusReport(content["kept"], content["skipped"], first, folder / SKIPPED, content["controls"])
