"""Training data of a run that starts from another: corrections, as `regard serve --suggestions` writes them, and the
other run's texts and upgraded settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.config import quoted, read_settings, read_yaml, settings_file
from regard.data.readers.suggestions import SuggestionsReader, holds_suggestions
from regard.errors import ConfigError, Fault
from regard.experiment.data import CORPORA, DATA_PARTS, FILE_SETTINGS, DataSettings, by_ending
from regard.experiment.huggingface import is_huggingface
from regard.models import MODELS
from regard.registry import Choice
from regard.tasks import task_class

KIND = "suggestions"  # the reader
_TAKEN = ("train", "dev", "dev_fraction", "test_fraction")


def names_corrections(text: str) -> bool:
    """Return whether a training file holds corrections."""
    named, path = by_ending(text), Path(text).expanduser()
    return named is not None and named["name"] == "jsonl" and path.is_file() and holds_suggestions(path)


def as_changes(text: str) -> list[str]:
    """Return the changes that name a file of corrections as training data."""
    return [f"data.train={quoted(text)}"]


def with_corrections(explicit: dict[str, Any], start: Path | None, say: Callable[[str], None] | None) -> dict[str, Any]:
    """Return settings that read files of corrections by their fields, in the languages of the run `start`.

    `say` gets the number of corrections. Settings with faults stay unchanged, and their reader reports the faults.
    """
    try:
        data = read_settings(DataSettings, explicit.get("data", {}))
    except ConfigError:
        return explicit
    readers = {part: choice for part, choice in data.readers().items() if _holds(choice)}
    if not readers:
        return explicit
    found = dict(explicit["data"])
    languages = data.languages or (None if start is None or is_huggingface(start) else _languages_of(start))
    for part, choice in readers.items():
        settings = {"name": KIND, "file": choice.settings["file"], **({"languages": [*languages]} if languages else {})}
        if say is not None:
            reader = SuggestionsReader(("source", "target"), file=settings["file"], languages=languages)
            say(f"{Path(settings['file']).name}: {reader.summary()}")
        group, _, name = part.rpartition(".")
        if group == CORPORA.rstrip("."):
            found["corpora"] = {**found.get("corpora", {}), name: settings}
        elif not group:
            found[name] = settings
    if languages:
        found.setdefault("languages", [*languages])
    return {**explicit, "data": found}


def _holds(choice: Choice) -> bool:
    """Return whether a reader is of a file of corrections, without settings of fields."""
    path = Path(str(choice.settings.get("file", "")))
    return choice.name == "jsonl" and not choice.settings.get("fields") and path.is_file() and holds_suggestions(path)


def _languages_of(run: Path) -> tuple[str, str] | None:
    """Return the language codes of a run; None where one of them is unknown."""
    known = read_settings(DataSettings, upgraded(read_yaml(settings_file(run))).get("data", {})).language_pair()
    match known:
        case (str(source), str(target)):
            return source, target
    return None


def texts_of(run: Path) -> dict[str, Any]:
    """Return the settings of a run's training and dev set, where their files exist."""
    data = upgraded(read_yaml(settings_file(run))).get("data", {})
    there = {part for part, choice in read_settings(DataSettings, data).readers().items() if is_there(choice)}
    gone = {"train", "dev"} - there
    return {name: data[name] for name in _TAKEN if name in data and name not in gone}


def is_there(choice: Choice) -> bool:
    """Return whether a reader names files, and all of them exist."""
    files = [choice.settings.get(name) for name in FILE_SETTINGS if choice.settings.get(name) is not None]
    paths = [path for one in files for path in (one.values() if isinstance(one, Mapping) else [one])]
    return bool(paths) and all(Path(str(path)).expanduser().exists() for path in paths)


_OLD_COLUMNS = ("source", "target", "text")


def upgraded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Upgrade format 1 to format 2: files by part and column, and a model with its row's name and settings alone."""
    if settings.get("format") != 1:
        return dict(settings)
    data, model = dict(settings.get("data", {})), dict(settings.get("model", {}))
    task = settings.get("task", "translation")
    row = task_class(task["name"] if isinstance(task, Mapping) else task)
    for part in DATA_PARTS:
        named = {column: data.pop(_old(part, column), None) for column in _OLD_COLUMNS}
        files = {column: file for column, file in named.items() if file is not None}
        data[part] = data.get(part) or files or None
    known = MODELS.settings(row.spec.model)
    kept = {name: value for name, value in model.items() if name in known}
    return {**settings, "data": data, "model": {"name": row.spec.model, **kept}, "format": 2}


def check_files(settings: Mapping[str, Any]) -> None:
    """Raise ConfigError for names of files of format 1, with their replacements."""
    data = settings.get("data")
    named = data if isinstance(data, Mapping) else {}
    faults = [
        Fault(f"data.{_old(part, column)}", "there is no such setting", f"write data.{part}.{column}")
        for part in DATA_PARTS
        for column in _OLD_COLUMNS
        if _old(part, column) in named
    ]
    if faults:
        raise ConfigError.of(faults)


def _old(part: str, column: str) -> str:
    return column if part == "train" else f"{part}_{column}"
