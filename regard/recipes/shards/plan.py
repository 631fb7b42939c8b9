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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from regard.config import write_atomically
from regard.config.atomic_write import staged
from regard.data.readers.lines import reading_faults
from regard.errors import ConfigError, DataError
from regard.recipes.shards.files import RowFile, count_rows, row_file

PLAN, JOINED, SHARDS = "plan.json", "joined.json", "shards"
_HEAD = 2**20  # bytes that identify a file, with its size


@dataclass(frozen=True)
class PredictOptions:
    """Options of `regard predict`."""

    run: str
    changes: Sequence[str] = ()
    glossary: str | None = None
    raw: bool = False
    scores: bool = False
    alignment: bool = False
    as_json: bool = False
    abstain: float | None = None


class InputFile(NamedTuple):
    """A file of texts, at the time when it was cut."""

    path: str
    column: str | None
    size: int  # bytes
    head: str  # SHA-256 of the first MiB
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
    weights: str  # SHA-256 of the run's weights
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
        self.path, self.lock = path, path / ".lock"

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


def cut_files(
    folder: ShardFolder, options: PredictOptions, weights: str, files: Sequence[RowFile], number: int
) -> Plan:
    """Cut files into about `number` shards of equal length, none of which spans two files, and write the plan.

    Two passes over the files; memory holds one shard. Raises DataError for a row that cannot be read.
    """
    rows = [count_rows(file) for file in files]
    length = max(1, -(-sum(rows) // number))
    shards: list[TextShard] = []
    for place, file in enumerate(files):
        texts, first = file.texts(), 0
        while some := list(islice(texts, length)):
            digest = write_strings(folder.shard(len(shards), "in"), some)
            shards.append(TextShard(place, first, len(some), digest))
            first += len(some)
    inputs = [
        InputFile(str(file.path), file.column, *size_and_head(file.path), some)
        for file, some in zip(files, rows, strict=True)
    ]
    plan = Plan(options, weights, inputs, shards)
    write_atomically(folder.path / PLAN, json.dumps(asdict(plan), indent=1))
    return plan


def size_and_head(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 of the beginning of a file."""
    with reading_faults(path), path.open("rb") as file:
        return path.stat().st_size, hashlib.sha256(file.read(_HEAD)).hexdigest()


def write_strings(path: Path, texts: Sequence[str]) -> str:
    """Write texts as JSON strings, a line each, completely or not at all, and return the SHA-256 of the file."""
    data = "".join(f"{json.dumps(text)}\n" for text in texts).encode()
    made = staged(path)
    with made.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    made.replace(path)
    return hashlib.sha256(data).hexdigest()


def read_strings(path: Path, digest: str) -> list[str]:
    """Return what `write_strings` wrote. Raises DataError for a file that is missing or not as it was written."""
    with reading_faults(path):
        data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise DataError(path, "is not as it was written", hint=f"rm -r {path.parent.parent}, and begin again")
    return [json.loads(line) for line in data.splitlines()]


def mark_done(folder: ShardFolder, number: int, answers: Sequence[str]) -> None:
    """Write the answers of a shard, and then its mark."""
    digest = write_strings(folder.shard(number, "out"), answers)
    write_atomically(folder.shard(number, "done"), json.dumps({"rows": len(answers), "sha256": digest}))


def join(folder: ShardFolder, plan: Plan) -> list[Path]:
    """Write each file with its answers, in order, then remove the shards; return the results.

    Every shard is compared with its checksum, every result with the number of rows of its file. Raises DataError.
    """
    results = []
    for place, given in enumerate(plan.inputs):
        file, path = plan.file(place), Path(given.path)
        if size_and_head(path) != (given.size, given.head):
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
    write_atomically(folder.path / JOINED, json.dumps({path.name: size_and_head(path) for path in results}))
    shutil.rmtree(folder.path / SHARDS, ignore_errors=True)
    return results


def _answers(folder: ShardFolder, plan: Plan, place: int) -> Iterator[str]:
    """The answers to a file's rows."""
    for number, shard in enumerate(plan.shards):
        if shard.file == place:
            mark = json.loads(folder.shard(number, "done").read_bytes())
            yield from read_strings(folder.shard(number, "out"), mark["sha256"])
