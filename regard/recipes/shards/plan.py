"""The folder of a bulk prediction: a plan, the shards with their answers, and the joined results.

plan.json             run, options, files and shards; written last, so a plan is whole
shards/00000.in       the texts of a shard, a JSON string a line
shards/00000.out      their answers
shards/00000.done     number and SHA-256 of the answers; written last
joined.json           the results, once all are written; then the shards are removed
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from regard.config import write_atomically
from regard.config.atomic_write import staged
from regard.data.readers.lines import digest, reading_faults
from regard.errors import ConfigError, DataError
from regard.recipes.shards.files import RowFile, count_rows, row_file

PLAN, JOINED, SHARDS, SCRIPT, _LOCK = "plan.json", "joined.json", "shards", "slurm.sh", ".lock"
OWN_FILES = frozenset({PLAN, JOINED, SHARDS, SCRIPT, _LOCK})


@dataclass(frozen=True)
class PredictOptions:
    """Options of `regard predict`."""

    run: str
    changes: tuple[str, ...] = ()
    glossary: str | None = None
    raw: bool = False
    scores: bool = False
    alignment: bool = False
    as_json: bool = False
    abstain: float | None = None
    engine: str | None = None  # of an export
    memory: str | None = None


class InputFile(NamedTuple):
    """A file of texts, at the time when it was cut."""

    path: str
    column: str | None
    digest: str  # SHA-256
    rows: int


class TextShard(NamedTuple):
    """A stretch of a file."""

    file: int  # its place among the inputs
    first: int  # row, from 0
    rows: int
    digest: str  # SHA-256 of the file of its texts


@dataclass(frozen=True)
class Plan:
    """The whole job."""

    options: PredictOptions
    digests: Mapping[str, str]  # SHA-256 of all that answers, by name
    inputs: list[InputFile]
    shards: list[TextShard]

    def file(self, place: int) -> RowFile:
        """Return an input by its place."""
        given = self.inputs[place]
        return row_file(Path(given.path), given.column, as_json=self.options.as_json)

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(given.rows for given in self.inputs)


class ShardFolder:
    """The files of a bulk prediction."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, path / _LOCK

    def shard(self, number: int, kind: str) -> Path:
        """Return a file of a shard: in, out, done or lock."""
        return self.path / SHARDS / f"{number:05d}.{kind}"

    def plan(self) -> Plan | None:
        """Return the plan, None where there is none. Raises ConfigError for one that cannot be read."""
        path = self.path / PLAN
        try:
            return TypeAdapter(Plan).validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise ConfigError("--output", f"'{path}' cannot be read", f"rm -r {self.path}") from error

    def done(self, number: int) -> bool:
        """Return whether a shard was answered."""
        return self.shard(number, "done").exists()


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Hold a lock file. The lock dies with its process; False: another process holds it."""
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def shard_length(rows: int, number: int) -> int:
    """Return the rows of a shard, where about `number` shards have all `rows`."""
    return max(1, -(-rows // number))


def cut_files(
    folder: ShardFolder,
    options: PredictOptions,
    digests: Mapping[str, str],
    files: Sequence[RowFile],
    number: int,
) -> Plan:
    """Cut files into about `number` shards of equal length, none of which spans two files, and write the plan.

    Two passes over the files; memory holds one row. Raises DataError for a row that cannot be read, and for a file that
    is changed meanwhile.
    """
    known = [digest(file.path).hex() for file in files]
    rows = [count_rows(file) for file in files]
    length = shard_length(sum(rows), number)
    shards: list[TextShard] = []
    for place, file in enumerate(files):
        texts, first = file.texts(), 0
        while first < rows[place]:
            size, checksum = write_strings(folder.shard(len(shards), "in"), islice(texts, length))
            if not size:
                raise DataError(file.path, "was changed while it was read")
            shards.append(TextShard(place, first, size, checksum))
            first += size
    inputs = [
        InputFile(str(file.path), file.column, one, some) for file, one, some in zip(files, known, rows, strict=True)
    ]
    plan = Plan(options, digests, inputs, shards)
    write_atomically(folder.path / PLAN, json.dumps(asdict(plan), indent=1))
    return plan


def write_strings(path: Path, texts: Iterable[str]) -> tuple[int, str]:
    """Write texts as JSON strings, a line each, completely or not at all; return their number and SHA-256."""
    rows, checksum, made = 0, hashlib.sha256(), staged(path)
    with made.open("wb") as file:
        for rows, text in enumerate(texts, start=1):  # noqa: B007  counted
            line = f"{json.dumps(text)}\n".encode()
            checksum.update(line)
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    made.replace(path)
    return rows, checksum.hexdigest()


def read_strings(path: Path, checksum: str) -> Iterator[str]:
    """Yield what `write_strings` wrote. Raises DataError for a file that is missing or not as it was written."""
    if digest(path).hex() != checksum:
        raise DataError(path, "is not as it was written", hint=f"rm -r {path.parent.parent}, and begin again")
    with reading_faults(path), path.open("rb") as file:
        yield from map(json.loads, file)


def mark_done(folder: ShardFolder, number: int, answers: Iterable[str]) -> None:
    """Write the answers of a shard, and then its mark."""
    rows, checksum = write_strings(folder.shard(number, "out"), answers)
    write_atomically(folder.shard(number, "done"), json.dumps({"rows": rows, "sha256": checksum}))


def join(folder: ShardFolder, plan: Plan) -> list[Path]:
    """Write each file with its answers, in order, then remove the shards; return the results.

    Every shard is compared with its checksum, every result with the number of rows of its file. Raises DataError.
    """
    results = []
    for place, given in enumerate(plan.inputs):
        file, path = plan.file(place), Path(given.path)
        if digest(path).hex() != given.digest:
            raise DataError(path, "was changed since it was cut into shards", hint=f"rm -r {folder.path}")
        target = folder.path / file.result
        made = target.with_name(f".new.{target.name}")  # its end says how it is packed
        answers = _answers(folder, plan, place)
        rows = file.write(made, answers)
        if rows != given.rows or next(answers, None) is not None:
            raise DataError(path, f"{rows:,} of {given.rows:,} rows have an answer", hint=f"rm -r {folder.path}")
        with made.open("rb+") as written:
            os.fsync(written.fileno())
        made.replace(target)
        results.append(target)
    write_atomically(folder.path / JOINED, json.dumps({path.name: digest(path).hex() for path in results}))
    shutil.rmtree(folder.path / SHARDS, ignore_errors=True)
    return results


def _answers(folder: ShardFolder, plan: Plan, place: int) -> Iterator[str]:
    """The answers to a file's rows."""
    for number, shard in enumerate(plan.shards):
        if shard.file == place:
            mark = json.loads(folder.shard(number, "done").read_bytes())
            yield from read_strings(folder.shard(number, "out"), mark["sha256"])
