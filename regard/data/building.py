"""Writes the files of a corpus, chunk by chunk, so that memory does not grow with the data."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.examples import Codec, Example
from regard.data.readers.lines import C1
from regard.data.readers.reader import Reader
from regard.data.report import CONTROLS, LISTED
from regard.text.clean import clean

CHUNK, _CHARACTERS = 4096, 2**22  # examples and characters held at once
SKIPPED, LINES = "skipped.tsv", "lines.bin"

ReadingProgress = Callable[[int], None]  # told the number of examples read so far


class _Fault(NamedTuple):
    """Why an example is skipped."""

    reason: str  # one of report.REASONS
    detail: str


def build(
    folder: Path,
    reader: Reader,
    codecs: Mapping[str, Codec],
    max_tokens: int | None,
    progress: ReadingProgress | None = None,
) -> dict[str, Any]:
    """Fills a folder; returns what its reader must know besides the files. Without a limit every example is kept."""
    with ExitStack() as stack:
        files = _Files(folder, reader.columns, codecs, stack)
        read = 0
        for chunk in _chunks(reader):
            read += len(chunk)
            _add(files, chunk, codecs, max_tokens)
            if progress is not None:
                progress(read)
    types = {column: dtype.name for column, dtype in files.types.items()}
    return {
        "columns": reader.columns,
        "ids": types,
        "max_tokens": max_tokens,
        "kept": files.kept,
        "skipped": files.skipped,
        "first": files.first,
        "controls": files.controls,
    }


def ids_path(folder: Path, column: str) -> tuple[Path, Path]:
    """The files of a column's ids and of their offsets (count + 1,)."""
    return folder / f"{column}.ids.bin", folder / f"{column}.ids.offsets.bin"


def text_path(folder: Path, column: str) -> tuple[Path, Path]:
    """The files of a column's cleaned text, UTF-8, and of its offsets in bytes (count + 1,)."""
    return folder / f"{column}.text.bin", folder / f"{column}.text.offsets.bin"


def ids_type(vocabulary: int) -> np.dtype[Any]:
    """The smallest type that holds the ids of a vocabulary."""
    return np.dtype(np.uint16 if vocabulary <= 2**16 else np.int32)


class _Growing:
    """Rows of different lengths in one file, and where they start in another."""

    def __init__(self, paths: tuple[Path, Path], stack: ExitStack) -> None:
        self._data, self._offsets = (stack.enter_context(path.open("wb")) for path in paths)
        self._end = 0
        self._offsets.write(np.zeros(1, np.int64).tobytes())

    def add(self, data: bytes, lengths: Sequence[int]) -> None:
        offsets: NDArray[np.int64] = self._end + np.cumsum(lengths, dtype=np.int64)
        self._data.write(data)
        self._offsets.write(offsets.tobytes())
        self._end = int(offsets[-1])


class _Files:
    """All files of a corpus while they are written."""

    def __init__(self, folder: Path, columns: Sequence[str], codecs: Mapping[str, Codec], stack: ExitStack) -> None:
        self.types = {column: ids_type(len(one)) for column, one in codecs.items()}
        self.kept, self.controls, self.skipped, self.first = 0, 0, dict[str, int](), dict[str, list[int]]()
        self._ids = {column: _Growing(ids_path(folder, column), stack) for column in codecs}
        self._texts = {column: _Growing(text_path(folder, column), stack) for column in columns}
        self._lines: IO[bytes] = stack.enter_context((folder / LINES).open("wb"))
        self._skips: IO[str] = stack.enter_context((folder / SKIPPED).open("w", encoding="utf-8"))

    def keep(self, chunk: Sequence[Example], ids: Mapping[str, Sequence[Sequence[int]]]) -> None:
        """Adds examples and, by column, their ids."""
        if not chunk:
            return
        for column, ragged in self._texts.items():
            texts = [example.texts[column].encode() for example in chunk]
            ragged.add(b"".join(texts), [len(text) for text in texts])
        for column, ragged in self._ids.items():
            rows = ids[column]
            lengths = [len(row) for row in rows]
            flat = np.fromiter(chain.from_iterable(rows), self.types[column], sum(lengths))
            ragged.add(flat.tobytes(), lengths)
        for example in chunk:
            if any(not text.isascii() and C1.search(text) for text in example.texts.values()):
                self.controls += 1
                self._note(CONTROLS, example.line)
        self._lines.write(np.array([example.line for example in chunk], np.int64).tobytes())
        self.kept += len(chunk)

    def skip(self, line: int, fault: _Fault) -> None:
        """Counts an example that is not kept, and writes down why."""
        self.skipped[fault.reason] = self.skipped.get(fault.reason, 0) + 1
        self._note(fault.reason, line)
        self._skips.write(f"{line}\t{fault.reason}\t{fault.detail}\n")

    def _note(self, reason: str, line: int) -> None:
        first = self.first.setdefault(reason, [])
        if len(first) < LISTED:
            first.append(line)


def _chunks(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Cleaned examples, a few thousand at a time."""
    chunk, characters = list[Example](), 0
    for line, texts in examples:
        cleaned = {column: clean(text) for column, text in texts.items()}
        chunk.append(Example(line, cleaned))
        characters += sum(map(len, cleaned.values()))
        if len(chunk) == CHUNK or characters > _CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _add(files: _Files, chunk: Sequence[Example], codecs: Mapping[str, Codec], most: int | None) -> None:
    """Keeps or skips each example of a chunk."""
    faults = [None if most is None else _emptiness(example.texts) for example in chunk]
    full = [example for example, fault in zip(chunk, faults, strict=True) if fault is None]
    ids = {
        column: iter(one.encode_batch([example.texts[column] for example in full])) for column, one in codecs.items()
    }
    kept, kept_ids = list[Example](), {column: list[Sequence[int]]() for column in codecs}
    for example, empty in zip(chunk, faults, strict=True):
        row = {} if empty else {column: next(rows) for column, rows in ids.items()}
        fault = empty or _excess(row, most)
        if fault is not None:
            files.skip(example.line, fault)
            continue
        kept.append(example)
        for column, some in row.items():
            kept_ids[column].append(some)
    files.keep(kept, kept_ids)


def _emptiness(texts: Mapping[str, str]) -> _Fault | None:
    empty = [column for column, text in texts.items() if not text or text.isspace()]
    if not empty:
        return None
    return _Fault("empty" if len(empty) == len(texts) else "one_sided", f"no text in {', '.join(empty)}")


def _excess(row: Mapping[str, Sequence[int]], most: int | None) -> _Fault | None:
    if most is None:
        return None
    longer = [f"{len(ids)} tokens in {column}" for column, ids in row.items() if len(ids) > most]
    return _Fault("too_long", f"{', '.join(longer)}, at most {most}") if longer else None
