"""What was measured with a run's weights, and is kept beside its settings: of these weights alone."""

import warnings
from collections.abc import Mapping
from shlex import quote
from typing import Any

from regard.config import read_checked, write_checked
from regard.explain.alignment_head import AlignmentHead
from regard.registry import Choice
from regard.runs.folder import RunFolder
from regard.statistical.calibration import CALIBRATIONS, Calibrations

GRADES, ALIGNMENT = "grades.json", "alignment.json"
CALIBRATION = "calibration.json"
MEASURES = {  # the command behind each file
    GRADES: "regard explain {run} --grade",
    ALIGNMENT: "regard align --model {run}",
    CALIBRATION: "regard calibrate {run}",
}
WEIGHTS, ATTENTION = "weights", "attention"


def keep_measured(folder: RunFolder, name: str, values: Mapping[str, Any]) -> None:
    """Keep values of JSON in a file of the run, with the digest of the weights that they are of."""
    write_checked(folder.path / name, {WEIGHTS: folder.weights_digest(), **values})


def kept_measured(folder: RunFolder, name: str) -> dict[str, Any] | None:
    """Return what was kept; None where nothing was, or of other weights. A damaged file is warned of and not used."""
    path = folder.path / name
    try:
        found = read_checked(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        again = MEASURES[name].format(run=quote(str(folder.path)))
        warnings.warn(f"{path}: cannot be read: {error}; it is not used (measure it again: {again})", stacklevel=2)
        return None
    weights = found.pop(WEIGHTS, None)
    return found if weights == folder.weights_digest() else None


def alignment_head_of(folder: RunFolder) -> AlignmentHead | None:
    """Return the head that links words best, as `regard align --model RUN` found it; None where it was not asked."""
    ways = (kept_measured(folder, ALIGNMENT) or {}).get("ways", {})
    return AlignmentHead(*ways[ATTENTION]["head"]) if ATTENTION in ways else None


def calibration_of(folder: RunFolder) -> Calibrations | None:
    """Return how probabilities are mended, as `regard calibrate` fitted it; None where it was not asked."""
    kept = kept_measured(folder, CALIBRATION)
    if kept is None:
        return None
    rows = [CALIBRATIONS.build(Choice(**kept[name])) if kept.get(name) else None for name in Calibrations._fields]
    return None if rows[0] is None else Calibrations(rows[0], rows[1])


def keep_grades(folder: RunFolder, lines: int, methods: Mapping[str, Any]) -> None:
    """Keep figures of methods of explaining by name, measured on so many lines, beside others of the same lines."""
    before = kept_grades(folder)
    others = before["methods"] if before is not None and before["lines"] == lines else {}
    keep_measured(folder, GRADES, {"lines": lines, "methods": {**others, **methods}})


def kept_grades(folder: RunFolder) -> dict[str, Any] | None:
    """Return {lines, methods} as `regard explain RUN --grade` measured them."""
    return kept_measured(folder, GRADES)
