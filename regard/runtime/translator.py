"""A folder of `regard export RUN --to runtime`, opened: texts in, translations out."""

import ctypes
import hashlib
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .engine import Engine, EngineFault, EngineHypothesis, SearchRules, TensorPlace
from .folder import SETTINGS_NAME, FolderError, read_json, verified_settings
from .library import engine_library
from .loops import loop_of
from .pieces import PieceTable, SentencePieceTable, piece_table

WEIGHTS_NAME = "weights.bin"
_MOST_PLACES = 100_000  # pieces of a text: the limits of a folder are checked before memory is taken
_TOGETHER = 2048  # pieces of the sources that are searched at once
_NO_TENSOR = TensorPlace(0, 0, 0, 0)


class Translation(NamedTuple):
    """A translation."""

    text: str
    score: float
    finished: bool  # False: cut off at the limit of its length, or where a loop began anew
    looped: bool = False  # a loop was removed
    ids: Sequence[int] = ()  # of its pieces


class Forced(NamedTuple):
    """A given translation by the model."""

    source: list[str]  # pieces, the last one stands for the end
    target: list[str]
    log_probs: list[float]  # of each piece of the target
    weights: list[list[float]]  # (target, source) attention of the layer that aligns

    @property
    def score(self) -> float:
        """Return the log-probability of all."""
        return sum(self.log_probs)


class RuntimeTranslator:
    """An export, opened. Threads may share it."""

    def __init__(
        self,
        folder: str | Path,
        *,
        threads: int = 0,
        library: ctypes.CDLL | None = None,
        mapped: bool = True,
        **search: Any,
    ) -> None:
        """`threads` search batches at once, 0: as many as there are cores; `search` changes settings, such as size=1.

        `library`: the compiled engine; by default the one that came with this package. `mapped`: processes share the
        pages of the file, and end if it is cut; else the weights are copied. Raises FolderError, and ValueError for a
        setting that the search does not have.
        """
        folder = Path(folder)
        self.settings = _checked(folder)
        unknown = {*search} - {*SearchRules._fields}
        if unknown:
            raise ValueError(f"the search has no setting {min(unknown)}; it has {', '.join(SearchRules._fields)}")
        self.rules = SearchRules(**{**self.settings["search"], **search})
        if self.rules.size < 1 or threads < 0:
            raise ValueError("the beam size is 1 or more, and threads are 0 or more")
        self.source, self.target = _tables(folder / self.settings["source"], folder / self.settings["target"])
        self.threads = threads or os.cpu_count() or 1
        self._engine = _opened(folder, self.settings, engine_library() if library is None else library, mapped)

    def translate(self, texts: Sequence[str], *, safeguards: bool = True) -> list[str]:
        """Translate sentences; nothing becomes nothing. Raises ValueError for a text that is too long.

        `safeguards`: remove repetition loops.
        """
        return [found[0].text if found else "" for found in self.translations(texts, safeguards=safeguards)]

    def translations(
        self, texts: Sequence[str], n_best: int = 1, *, safeguards: bool = True, first: int = 1
    ) -> list[list[Translation]]:
        """Return the best translations of each text, none of an empty one; `safeguards` as of `translate`.

        Raises ValueError for a text that is too long, with its number; `first` is that of the first text.
        """
        rows = {number: self.ids(text, number + first) for number, text in enumerate(texts) if text.strip()}
        groups, found = _groups(rows), [list[Translation]() for _ in texts]
        rules = self.rules._replace(size=max(self.rules.size, n_best))

        def search(group: Sequence[int]) -> None:
            answers = self.searched([rows[number] for number in group], rules, n_best)
            for number, some in zip(group, answers, strict=True):
                found[number] = [self._translation(rows[number], one, safeguards) for one in some]

        if len(groups) > 1 and self.threads > 1:
            from concurrent.futures import ThreadPoolExecutor  # slow to import, and one text needs none

            with ThreadPoolExecutor(self.threads) as pool:
                [*pool.map(search, groups)]
        else:
            for group in groups:
                search(group)
        return found

    def forced(self, source: str, target: str, number: int = 1) -> Forced:
        """Return probabilities and alignment of a given translation.

        Raises ValueError for a text that is too long, with its number.
        """
        return self.forced_ids(self.ids(source, number), self.target.encode(target))

    def forced_ids(self, read: Sequence[int], written: Sequence[int]) -> Forced:
        """Return probabilities and alignment for ids of a source with their end, and of a target without it."""
        log_probs, weights = self._engine.force(read, written)
        end, listed = self.settings["shape"]["end"], (self.source.listed, self.target.listed)
        source_pieces, target_pieces = (
            [table[one] for one in ids] for table, ids in zip(listed, (read, [*written, end]), strict=True)
        )
        return Forced(source_pieces, target_pieces, log_probs, weights)

    def _translation(self, source: Sequence[int], found: EngineHypothesis, safeguards: bool) -> Translation:
        """A hypothesis, cut where a loop begins again that the source has not."""
        end, written = loop_of(found.ids) if safeguards else None, found.ids
        if end is not None and (
            loop_of(source) is not None or not any(map(str.isalpha, self.target.decode(written[end:])))
        ):
            end = None  # without a letter it may be a long number or a line
        whole = end is None
        return Translation(
            self.target.decode(written[:end]), found.score, found.finished and whole, not whole, written[:end]
        )

    def ids(self, text: str, number: int) -> list[int]:
        """Return the ids of a text with its end; `number` names it in the ValueError for one that is too long."""
        most = self.settings["max_source"] - 1
        if len(text) > most * self.source.longest:  # before it is cut, which takes time
            raise ValueError(f"text {number}: {len(text):,} characters are more than {most} pieces can hold")
        found = [*self.source.encode(text), self.settings["shape"]["end"]]
        if len(found) > most + 1:
            raise ValueError(f"text {number}: {len(found) - 1} pieces are more than this model takes ({most})")
        return found

    def searched(
        self, sources: Sequence[Sequence[int]], rules: SearchRules, n_best: int = 1
    ) -> list[list[EngineHypothesis]]:
        """Return the hypotheses of each source (ids with their end), the best first."""
        limits = [rules.limit(len(source), self.settings["max_target"]) for source in sources]
        return self._engine.translate(sources, rules, limits, n_best, self.target.first)


def _checked(folder: Path) -> dict[str, Any]:
    """The settings of an export to runtime. Raises FolderError."""
    settings = verified_settings(folder)
    if settings.get("program") != "runtime":
        raise FolderError(f"{folder} is not an export to runtime: regard export RUN --to runtime -o FOLDER makes one")
    needed = {"search", "shape", "reals", "tensors", "source", "target", "max_source", "max_target"}
    if missing := needed - settings.keys():
        raise FolderError(f"{folder / SETTINGS_NAME} has no {min(missing)}: export the run again")
    if not {WEIGHTS_NAME, settings["source"], settings["target"]} <= settings["files"].keys():
        raise FolderError(f"{folder / SETTINGS_NAME} does not name its files: export the run again")
    if not all(
        type(settings[name]) is int and 0 < settings[name] <= _MOST_PLACES for name in ("max_source", "max_target")
    ):
        raise FolderError(f"{folder / SETTINGS_NAME} has a length that no model has: export the run again")
    return settings


def _tables(source: Path, target: Path) -> Sequence[PieceTable | SentencePieceTable]:
    """The tables of both sides, which keep once what is equal in both."""
    first = read_json(source)
    made = _table(source, first)
    if target == source:
        return made, made
    second = read_json(target)
    second.update(
        {name: first[name] for name in ("pieces", "rules") if name in first and first[name] == second.get(name)}
    )
    return made, _table(target, second)


def _table(file: Path, kept: Mapping[str, Any]) -> PieceTable | SentencePieceTable:
    try:
        return piece_table(kept)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{file} is not a file of pieces ({error!r}): export the run again") from error


def _opened(folder: Path, settings: Mapping[str, Any], library: ctypes.CDLL, mapped: bool) -> Engine:
    """The network of a folder. Its file, or a copy, is mapped: the engine looks embeddings up there."""
    weights, digest = folder / WEIGHTS_NAME, settings["files"][WEIGHTS_NAME]
    try:
        with weights.open("rb") if mapped else _private_copy(weights, digest) as file:
            kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # ctypes takes no map to read from
        memory = (ctypes.c_char * len(kept)).from_buffer(kept)
        places = [_place(one, ctypes.addressof(memory), len(kept)) for one in settings["tensors"]]
        shape = settings["shape"]
        return Engine(library, shape, settings["reals"], places, shape["end"], memory)
    except (EngineFault, KeyError, TypeError, ValueError, ctypes.ArgumentError) as error:
        raise FolderError(f"{folder} cannot be opened: {error}; export the run again") from error


@contextmanager
def _private_copy(file: Path, digest: str) -> Iterator[BinaryIO]:
    """A copy without a name, in memory where the system can, which no other program can cut or change."""
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise EngineFault(f"{file.name} is damaged")
    from tempfile import TemporaryFile  # slow to import, and a mapped file needs none

    with os.fdopen(os.memfd_create(file.name), "w+b") if hasattr(os, "memfd_create") else TemporaryFile() as copy:
        copy.write(data)
        copy.flush()
        yield copy


def _place(tensor: Sequence[int] | None, start: int, size: int) -> TensorPlace:
    """offset, rows, columns and bytes of a number → the tensor's place."""
    if tensor is None:
        return _NO_TENSOR
    offset, rows, columns, wide = tensor
    if offset < 0 or min(rows, columns, wide) < 1 or offset + rows * columns * wide > size:
        raise EngineFault("a tensor lies outside of the file")
    return TensorPlace(start + offset, rows, columns, wide)


def _groups(rows: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Texts of similar lengths, as many pieces as fit together; the longest first, so that threads end together."""
    groups, size = list[list[int]](), _TOGETHER
    for number in sorted(rows, key=lambda one: -len(rows[one])):
        if size + len(rows[number]) > _TOGETHER:
            groups.append([])
            size = 0
        groups[-1].append(number)
        size += len(rows[number])
    return groups
