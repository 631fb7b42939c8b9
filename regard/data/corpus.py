"""A data set on disk: cleaned text, ids and offsets, memory-mapped, so that it may be larger than memory.

It is written chunk by chunk, so memory does not grow with the data either.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data import sealed
from regard.data.examples import Codec, Example
from regard.data.ragged import Ragged
from regard.data.readers.lines import C1, C1_HINT, check, digest
from regard.data.readers.reader import Reader
from regard.errors import DataError
from regard.text.clean import VERSION, clean

LISTED = 5  # line numbers named for each reason
CONTROLS = "controls"
REASONS = {
    "empty": "empty",
    "one_sided": "empty on one side only",
    "too_long": "too long",
}


class CorpusReport(NamedTuple):
    """Number of examples that a corpus keeps, and lines that it skips."""

    kept: int
    skipped: Mapping[str, int]  # by reason, for those that occur
    first: Mapping[str, tuple[int, ...]]  # line numbers in the file, from 1
    file: Path  # all skipped lines: number, reason and details between tabs
    controls: int = 0  # kept examples with C1 control characters, which no text needs

    @property
    def too_long(self) -> int:
        """Number of examples that are longer than the limit."""
        return self.skipped.get("too_long", 0)

    def __str__(self) -> str:
        parts = [
            f"{count:,} {REASONS[reason]} ({self._lines(reason, count)})" for reason, count in self.skipped.items()
        ]
        skipped = f"; skipped: {', '.join(parts)}" if parts else ", none skipped"
        if self.controls:
            hint = C1_HINT.format("FILE")
            skipped += f"; C1 control characters in {self.controls:,} ({self._lines(CONTROLS, self.controls)}): {hint}"
        return f"{self.kept:,} examples{skipped}"

    def _lines(self, reason: str, count: int) -> str:
        numbers = self.first[reason]
        more = " …" if count > len(numbers) else ""
        return ("line " if count == 1 else "lines ") + ", ".join(map(str, numbers)) + more


_FORMAT = 2  # of the files; another one is another cache
MAX_TOKENS = 256
ATTEMPTS = 4  # one to build and one to open, and the same again if another process comes between
EXAMPLES_AT_ONCE, _CHARACTERS_AT_ONCE = 4096, 2**22  # held in memory while a corpus is written
_SKIPPED, _LINES, _IDS, _TEXT = "skipped.tsv", "lines.bin", "ids", "text"  # files

Stamp = tuple[int, int]  # size and time of the last change
ReadingProgress = Callable[[int], None]  # called with the number of examples read so far


class Corpus:
    """Usable examples of a reader, numbered from 0; ids have neither BOS nor EOS."""

    def __init__(self, folder: Path, content: Mapping[str, Any], place: str) -> None:
        """Open a folder that `Corpus.open` made; `place` is named in errors of its texts."""
        self.folder, self.key, self.place = folder, folder.name, place
        self.columns: tuple[str, ...] = tuple(content["columns"])
        self.max_tokens: int | None = content["max_tokens"]  # None: every line was kept
        self.report = _report(folder, content)
        self.lines: Longs = _mapped(folder / _LINES, np.dtype(np.int64))  # in the reader's files, from 1
        self._ids = {column: _ragged(folder, column, _IDS, np.dtype(name)) for column, name in content["ids"].items()}
        self._texts = {column: _ragged(folder, column, _TEXT, np.dtype(np.uint8)) for column in self.columns}

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
        """Return the corpus of a reader: from `cache` if it is complete there, else built there.

        Columns without a codec keep their text only. Examples with an empty column, or with more than `max_tokens`
        ids in one (EOS not counted), are skipped and listed in `report`; `max_tokens` None keeps every example.
        The cache key covers the files' content, the cleaning, the codecs and the limit.
        Raises DataError where a file cannot be used, or all its examples are skipped.
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


def _paths(folder: Path, column: str, kind: str) -> tuple[Path, Path]:
    """Return the files of a column's ids, or of its cleaned UTF-8 text, and of their offsets (count + 1,)."""
    return folder / f"{column}.{kind}.bin", folder / f"{column}.{kind}.offsets.bin"


def _ragged(folder: Path, column: str, kind: str, dtype: np.dtype[Any]) -> Ragged:
    data, offsets = _paths(folder, column, kind)
    return Ragged(_mapped(data, dtype), _mapped(offsets, np.dtype(np.int64)))


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _key(reader: Reader, codecs: Mapping[str, Codec], max_tokens: int | None) -> str:
    """Return a digest of everything that determines the content of the cache."""
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


def _report(folder: Path, content: Mapping[str, Any]) -> CorpusReport:
    first = {reason: tuple(lines) for reason, lines in content["first"].items()}
    return CorpusReport(content["kept"], content["skipped"], first, folder / _SKIPPED, content["controls"])


def _build(
    place: Path,
    reader: Reader,
    codecs: Mapping[str, Codec],
    max_tokens: int | None,
    before: Sequence[Stamp],
    progress: ReadingProgress | None,
) -> None:
    """Put a corpus in its place, unless the files have changed since the place was named."""
    try:
        with sealed.making(place) as folder:
            content = _write(folder, reader, codecs, max_tokens, progress)
            if not content["kept"]:
                raise DataError(reader.place, f"no example can be used: {_report(folder, content)}")
            for path, stamp in zip(reader.files, before, strict=True):
                if _stamp(path) != stamp:
                    raise DataError(path, "was changed while it was read")
            sealed.seal(folder, content)
            sealed.publish(folder, place)
    except OSError as error:
        raise DataError(place.parent, f"the data cache cannot be written: {error.strerror or error}") from error


def _write(
    folder: Path,
    reader: Reader,
    codecs: Mapping[str, Codec],
    max_tokens: int | None,
    progress: ReadingProgress | None,
) -> dict[str, Any]:
    """Fill a folder and return the metadata of its seal. Without a limit every example is kept."""
    with ExitStack() as stack:
        files = _Files(folder, reader.columns, codecs, stack)
        read = 0
        for chunk in _chunks(reader):
            read += len(chunk)
            files.add(chunk, codecs, max_tokens)
            if progress is not None:
                progress(read)
    return {
        "columns": reader.columns,
        "ids": {column: dtype.name for column, dtype in files.types.items()},
        "max_tokens": max_tokens,
        "kept": files.kept,
        "skipped": files.skipped,
        "first": files.first,
        "controls": files.controls,
        "derived": reader.derived,
    }


class _Fault(NamedTuple):
    """The reason for which an example is skipped."""

    reason: str  # one of report.REASONS
    detail: str


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
        small, large = np.dtype(np.uint16), np.dtype(np.int32)
        self.types: dict[str, np.dtype[Any]] = {
            column: small if len(one) <= 2**16 else large for column, one in codecs.items()
        }
        self.kept, self.controls, self.skipped, self.first = 0, 0, dict[str, int](), dict[str, list[int]]()
        self._ids = {column: _Growing(_paths(folder, column, _IDS), stack) for column in codecs}
        self._texts = {column: _Growing(_paths(folder, column, _TEXT), stack) for column in columns}
        self._lines: IO[bytes] = stack.enter_context((folder / _LINES).open("wb"))
        self._skips: IO[str] = stack.enter_context((folder / _SKIPPED).open("w", encoding="utf-8"))

    def add(self, chunk: Sequence[Example], codecs: Mapping[str, Codec], most: int | None) -> None:
        """Keep or skip each example of a chunk."""
        faults = [None if most is None else _emptiness(example.texts) for example in chunk]
        full = [example for example, fault in zip(chunk, faults, strict=True) if fault is None]
        ids = {
            column: iter(one.encode_batch([example.texts[column] for example in full]))
            for column, one in codecs.items()
        }
        kept, kept_ids = list[Example](), {column: list[Sequence[int]]() for column in codecs}
        for example, empty in zip(chunk, faults, strict=True):
            row = {} if empty else {column: next(rows) for column, rows in ids.items()}
            fault = empty or _excess(row, most)
            if fault is not None:
                self._skip(example.line, fault)
                continue
            kept.append(example)
            for column, some in row.items():
                kept_ids[column].append(some)
        if kept:
            self._keep(kept, kept_ids)

    def _keep(self, chunk: Sequence[Example], ids: Mapping[str, Sequence[Sequence[int]]]) -> None:
        for column, ragged in self._texts.items():
            texts = [example.texts[column].encode() for example in chunk]
            ragged.add(b"".join(texts), [len(text) for text in texts])
        for column, ragged in self._ids.items():
            lengths = [len(row) for row in ids[column]]
            flat = np.fromiter(chain.from_iterable(ids[column]), self.types[column], sum(lengths))
            ragged.add(flat.tobytes(), lengths)
        for example in chunk:
            if any(not text.isascii() and C1.search(text) for text in example.texts.values()):
                self.controls += 1
                self._note(CONTROLS, example.line)
        self._lines.write(np.array([example.line for example in chunk], np.int64).tobytes())
        self.kept += len(chunk)

    def _skip(self, line: int, fault: _Fault) -> None:
        """Count an example that is not kept, and write down why."""
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
        if len(chunk) == EXAMPLES_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _emptiness(texts: Mapping[str, str]) -> _Fault | None:
    empty = [column for column, text in texts.items() if not text or text.isspace()]
    if not empty:
        return None
    return _Fault("empty" if len(empty) == len(texts) else "one_sided", f"no text in {', '.join(empty)}")


def _excess(row: Mapping[str, Sequence[int]], most: int | None) -> _Fault | None:
    longer = [f"{len(ids)} tokens in {column}" for column, ids in row.items() if most is not None and len(ids) > most]
    return _Fault("too_long", f"{', '.join(longer)}, at most {most}") if longer else None
