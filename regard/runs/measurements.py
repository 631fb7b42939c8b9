"""Measurements with a run's weights, saved beside its settings, and valid for these weights alone."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from regard.config import read_checked, write_checked
from regard.explain.alignment import AlignmentHead
from regard.registry import Choice
from regard.statistical.calibration import CALIBRATIONS, Calibrations

GRADES, ALIGNMENT = "grades.json", "alignment.json"
CALIBRATION, CERTIFICATE = "calibration.json", "certificate.json"
TUNED_THRESHOLD = "threshold.json"
ADAPTATION = "adaptation.json"  # the weights that a run started from beside the selected ones, on new and old text
DISTILLATION = "distillation.json"  # teachers and student on the dev set
MEASURES = {  # the command behind each file
    GRADES: "regard explain {run} --grade",
    ALIGNMENT: "regard align --model {run}",
    CALIBRATION: "regard calibrate {run}",
    TUNED_THRESHOLD: "regard tune {run}",
    CERTIFICATE: "regard import",
    ADAPTATION: "regard train --from",
    DISTILLATION: "regard distil",
}
WEIGHTS, ATTENTION = "weights", "attention"


class Measurements:
    """JSON files in a run folder, each with the digest of its weights."""

    def __init__(self, folder: Path, digest: Callable[[], str]) -> None:
        """`digest` returns the digest of the run's weights; it is called only when needed."""
        self.folder, self._digest = folder, digest

    def keep(self, name: str, values: Mapping[str, Any]) -> None:
        """Save JSON values in a file of the run."""
        write_checked(self.folder / name, {WEIGHTS: self._digest(), **values})

    def kept(self, name: str) -> dict[str, Any] | None:
        """Return the saved values; None where there are none, or they belong to other weights.

        Warns of a damaged file, which is not used.
        """
        path = self.folder / name
        try:
            found = read_checked(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            again = MEASURES[name].format(run=quote(str(self.folder)))
            warnings.warn(f"{path}: cannot be read: {error}; it is not used (measure it again: {again})", stacklevel=2)
            return None
        weights = found.pop(WEIGHTS, None)
        return found if weights == self._digest() else None

    def alignment_head(self) -> AlignmentHead | None:
        """Return the best alignment head, found by `regard align --model RUN`; None where it was not run."""
        ways = (self.kept(ALIGNMENT) or {}).get("ways", {})
        return AlignmentHead(*ways[ATTENTION]["head"]) if ATTENTION in ways else None

    def calibration(self) -> Calibrations | None:
        """Return the calibrations that `regard calibrate` fitted; None where it was not run."""
        kept = self.kept(CALIBRATION)
        if kept is None:
            return None
        rows = [CALIBRATIONS.build(Choice(**kept[name])) if kept.get(name) else None for name in Calibrations._fields]
        return None if rows[0] is None else Calibrations(rows[0], rows[1])

    def threshold(self) -> float | None:
        """Return the threshold that `regard tune` chose; None where it was not run."""
        kept = self.kept(TUNED_THRESHOLD)
        return None if kept is None else float(kept["threshold"])

    def keep_grades(self, lines: int, methods: Mapping[str, Any]) -> None:
        """Save faithfulness scores of explanation methods on the first `lines` lines, with others on the same lines."""
        before = self.grades()
        others = before["methods"] if before is not None and before["lines"] == lines else {}
        self.keep(GRADES, {"lines": lines, "methods": {**others, **methods}})

    def grades(self) -> dict[str, Any] | None:
        """Return {lines, methods} as `regard explain RUN --grade` measured them."""
        return self.kept(GRADES)
