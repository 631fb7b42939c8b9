"""What a config may say of its data: a file for each column of the task, or a reader for each part."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt

from regard.config import PartOf
from regard.data.readers import READERS
from regard.errors import Fault
from regard.registry import Choice

Part = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
FILE_COLUMNS = ("source", "target", "text")  # that have settings of their own, whatever the task
FILE_SETTINGS = ("file", "files", "index")  # of a reader: a path, or paths by column


def by_ending(text: str) -> Mapping[str, Any] | None:
    """`pairs.tsv.gz` → the reader `tsv` of that file; None when no reader bears the ending's name."""
    ending = Path(text.removesuffix(".gz")).suffix.removeprefix(".")
    return {"name": ending, "file": text} if ending in READERS else None


Read = Annotated[Choice, PartOf(READERS, short=by_ending)]


@dataclass(frozen=True)
class DataSettings:
    """Either a text file for each column of the task, `source` and `target`, or `text` for a language model, or
    `train`, a reader; `dev` and `test` likewise.

    A relative path is looked for in `dir`, then where the command runs, then in the folder that the environment
    variable REGARD_DATA names.
    """

    dir: Path | None = None
    source: Path | None = None
    target: Path | None = None
    dev_source: Path | None = None
    dev_target: Path | None = None
    test_source: Path | None = None
    test_target: Path | None = None
    text: Path | None = None
    dev_text: Path | None = None
    test_text: Path | None = None
    train: Read | None = None
    dev: Read | None = None
    test: Read | None = None
    languages: tuple[str, str] | None = None  # codes of source and target; None: as the files' names end
    dev_share: Annotated[float, Ge(0), Lt(1)] = 0.0  # held out of train for want of a dev part
    cache: Path | None = None  # where corpora are kept ready; None: in the run folder
    max_length: Annotated[int, Ge(1)] = 256  # pieces of a training sentence; longer ones are counted and left out

    def reader(self, part: Part, columns: Sequence[str]) -> Choice | None:
        """The reader of a part with its files found, or None where the config names none."""
        choice: Choice | None = getattr(self, part)
        files = self._files(part, columns)
        if choice is None and None not in files.values():
            named = {column: str(file) for column, file in zip(columns, files.values(), strict=True)}
            choice = Choice("parallel", {"files": named})
        return None if choice is None else self._located(choice)

    def located(self) -> "DataSettings":
        """The same with every file by its full path, and the languages that their names tell."""
        files = {name: getattr(self, name) for part in PARTS for name in named_files(part, FILE_COLUMNS)}
        found: dict[str, Any] = {name: self.find(file) for name, file in files.items() if file is not None}
        found |= {part: self._located(getattr(self, part)) for part in PARTS if getattr(self, part) is not None}
        match self.language_pair():
            case str(source), str(target):
                found["languages"] = (source, target)
        return replace(self, **found)

    def find(self, path: Path | str) -> Path:
        """A path as it can be opened; as it is when there is no such file."""
        path = _home(path)
        base = os.environ.get("REGARD_DATA")
        places = [self.dir, Path(), Path(base) if base else None]
        tried = [_home(place) / path for place in places if place is not None]
        return next((file.absolute() for file in tried if file.exists()), path)

    def faults(self, columns: Sequence[str]) -> Iterator[Fault]:
        """Files that are missing, half named, or of another task's columns."""
        for part in PARTS:
            files = self._files(part, columns)
            given = [name for name, file in files.items() if file is not None]
            other = next((name for name in files if name not in given), "")
            if getattr(self, part) is not None and given:
                yield Fault(f"data.{part}", f"is given beside data.{given[0]}", "one of them is enough")
            elif given and other:
                yield Fault(f"data.{other}", "must be given", f"the other side of data.{given[0]}")
            elif part == "train" and not given and self.train is None:
                yield Fault(f"data.{columns[0]}", "must be given", _wanted(columns))
            yield from self._foreign(part, columns)
            yield from self._missing(part)

    def language_pair(self) -> tuple[str | None, str | None]:
        """The codes of both languages, from `languages` or the ends of the files' names (train.en.gz → en)."""
        if self.languages is not None:
            return self.languages
        return _ending(self.source), _ending(self.target)

    def _files(self, part: Part, columns: Sequence[str]) -> dict[str, Path | None]:
        """By setting, in the order of the columns."""
        return {name: getattr(self, name) for name in named_files(part, columns)}

    def _foreign(self, part: Part, columns: Sequence[str]) -> Iterator[Fault]:
        for name, file in self._files(part, [one for one in FILE_COLUMNS if one not in columns]).items():
            if file is not None:
                yield Fault(f"data.{name}", "is nothing that this task reads", _wanted(columns))

    def _located(self, choice: Choice) -> Choice:
        files = {name: self._found(choice.settings[name]) for name in FILE_SETTINGS if name in choice.settings}
        return Choice(choice.name, {**choice.settings, **files})

    def _found(self, files: Any) -> Any:
        if isinstance(files, Mapping):
            return {column: str(self.find(file)) for column, file in files.items()}
        return str(self.find(files))

    def _missing(self, part: Part) -> Iterator[Fault]:
        named: dict[str, Any] = self._files(part, FILE_COLUMNS)
        choice: Choice = getattr(self, part) or Choice("", {})
        for setting in FILE_SETTINGS:
            files = choice.settings.get(setting)
            several = files if isinstance(files, Mapping) else {"": files}
            named |= {f"{part}.{setting}.{column}".rstrip("."): file for column, file in several.items()}
        for name, file in named.items():
            if file is not None and not self.find(file).exists():
                yield Fault(f"data.{name}", f"there is no file '{file}'", _looked(self.dir))


def named_files(part: Part, columns: Sequence[str]) -> list[str]:
    """The settings that hold the files of a part, a column each."""
    start = "" if part == "train" else f"{part}_"
    return [f"{start}{column}" for column in columns]


def _wanted(columns: Sequence[str]) -> str:
    named = " and ".join(f"data.{column}" for column in columns)
    return f"a text file: {named}" if len(columns) == 1 else f"text files: {named}"


def _ending(path: Path | None) -> str | None:
    ending = "" if path is None else Path(str(path).removesuffix(".gz")).suffix.removeprefix(".")
    return ending if ending.isalpha() and len(ending) in (2, 3) and ending not in ("txt", "raw", "tok", "bpe") else None


def _home(path: Path | str) -> Path:
    """With `~` written out; left as it is where there is no such user."""
    return Path(os.path.expanduser(path))


def _looked(folder: Path | None) -> str:
    places = [str(folder)] if folder else []
    base = os.environ.get("REGARD_DATA")
    places += [str(Path.cwd()), *([f"REGARD_DATA, {base}"] if base else [])]
    return "looked in " + "; ".join(places)
