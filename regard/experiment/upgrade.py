"""Upgrade of settings of earlier versions to the current format."""

from collections.abc import Mapping
from typing import Any

from regard.errors import ConfigError, Fault
from regard.experiment.data import DATA_PARTS
from regard.models import MODELS
from regard.tasks import task_class

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
