"""How far each method of explaining can be trusted with a run's weights, as `regard explain RUN --grade` measures."""

from collections.abc import Mapping
from typing import Any

from regard.config import read_checked, write_checked
from regard.runs.folder import RunFolder

GRADES = "grades.json"  # beside the settings of a run


def keep_grades(folder: RunFolder, lines: int, methods: Mapping[str, Any]) -> None:
    """Keep figures of methods by name, measured on so many lines, in the run: beside others of the same lines."""
    before = _read(folder) or {}
    others = before["methods"] if before.get("lines") == lines else {}
    kept = {"weights": folder.weights_digest(), "lines": lines, "methods": {**others, **methods}}
    write_checked(folder.path / GRADES, kept)


def kept_grades(folder: RunFolder) -> dict[str, Any] | None:
    """Return {lines, methods}; None where nothing was measured, or with other weights, or the file is damaged."""
    found = _read(folder)
    return None if found is None else {"lines": found["lines"], "methods": found["methods"]}


def _read(folder: RunFolder) -> dict[str, Any] | None:
    try:
        found = read_checked(folder.path / GRADES)
    except (OSError, ValueError):
        return None
    return found if found.get("weights") == folder.weights_digest() else None
