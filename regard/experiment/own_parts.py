"""Parts from outside the package: Python files with a table `PARTS`, imported only where a user names them.

    PARTS = {"score": {"manhattan": ManhattanScore}}

A user names a file in a config, in a change (`parts=my_parts.py`) or in the environment variable REGARD_PARTS. The
settings of a saved run name the file too, but opening the run does not import it: the folder may be another's.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import Any

from regard.attention.recipes import RECIPES
from regard.config import parse_changes
from regard.errors import ConfigError, Fault, PartError, nearest
from regard.experiment.names import index_names
from regard.experiment.tables import PARTS

VARIABLE_OF_PARTS = "REGARD_PARTS"  # files, separated as in PATH
TABLE_OF_PARTS = "PARTS"
OwnParts = Mapping[str, Mapping[str, Callable[..., Any]]]  # kind of part, as `regard list` has it → name → part
_HOW = 'PARTS = {"score": {"my_score": MyScore}}'


def add_parts(parts: OwnParts) -> None:
    """Add parts to the tables, so that configs, commands and `regard list` know them by name.

    >>> regard.add_parts({"score": {"manhattan": ManhattanScore}})

    Args:
        parts: By kind (score, encoder, … as in `regard list`) and name: classes or functions that keep the contract
            of their kind. Added again, a part replaces the earlier one of its name.

    Raises:
        ConfigError: A kind is unknown, a name is one of Regard's own, or a setting has no type. No part is added.
    """
    faults = []
    for kind, rows in parts.items():
        if kind not in PARTS:
            faults.append(Fault(str(kind), "is not a kind of part", nearest(str(kind), PARTS)))
            continue
        try:
            PARTS[kind].check(rows)
        except PartError as error:
            faults += [fault.inside(kind) for fault in error.faults]
    if faults:
        raise ConfigError.of(faults)
    for kind, rows in parts.items():
        PARTS[kind].add(rows)
    RECIPES.index()
    index_names()


def load_parts(files: Iterable[Path]) -> list[str]:
    """Import files that were not imported before, and add their parts; return what was added: "score manhattan".

    Raises ConfigError for a file that is missing, fails, or has no table PARTS.
    """
    added = []
    for file in files:
        path = file.resolve()
        if _module_name(path) in sys.modules:
            continue
        parts = _table_of(path)
        try:
            add_parts(parts)
        except ConfigError as error:
            del sys.modules[_module_name(path)]  # a corrected file is imported again
            raise ConfigError.of(one._replace(place=f"{file}: {one.place}") for one in error.faults) from error
        added += [f"{kind} {name}" for kind, rows in parts.items() for name in rows]
    return added


def environment_parts() -> list[Path]:
    """Return the files that the environment names."""
    return [Path(one) for one in os.environ.get(VARIABLE_OF_PARTS, "").split(os.pathsep) if one]


def named_parts(settings: Mapping[str, Any], changes: Iterable[str] = ()) -> list[Path]:
    """Return the files that `parts` names in settings, or in changes, which replace it."""
    given = parse_changes(one for one in changes if one.partition("=")[0].strip() == "parts")
    found = given.get("parts", settings.get("parts")) or ()
    return [Path(one) for one in ([found] if isinstance(found, str) else found) if isinstance(one, str)]


def missing_parts(saved: Mapping[str, Any], error: ConfigError) -> ConfigError:
    """Return the error of a saved run whose parts were not imported, if `error` is of an unknown part; else `error`."""
    if not any(fault.problem.startswith("there is no '") for fault in error.faults):
        return error
    files = [file for file in named_parts(saved) if _module_name(file.resolve()) not in sys.modules]
    if not files:
        return error
    there = [file for file in files if file.is_file()]
    named = ", ".join(map(str, files))
    if len(there) < len(files):
        return ConfigError("parts", f"this run needs {named}, and the file is not there", "parts=FILE names another")
    problem = f"this run needs {named}, a Python file that is not imported unless you name it"
    return ConfigError("parts", problem, f"parts={there[0]}, or {VARIABLE_OF_PARTS}={there[0]} in the environment")


def _table_of(path: Path) -> OwnParts:
    """Import a file; return its table. Raises ConfigError."""
    name = _module_name(path)
    spec = spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ConfigError("parts", f"there is no Python file '{path}'", f"a file with {_HOW}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # as an import does, so that its classes can name each other
    try:
        spec.loader.exec_module(module)
        found: Any = getattr(module, TABLE_OF_PARTS, None)
        if not isinstance(found, Mapping) or not all(isinstance(rows, Mapping) for rows in found.values()):
            raise ConfigError("parts", f"'{path}' has no table of parts", f"it ends with {_HOW}")
    except ConfigError:
        del sys.modules[name]
        raise
    except Exception as error:  # whatever the code of a user raises
        del sys.modules[name]
        lines = [one.lineno for one in extract_tb(error.__traceback__) if one.filename == str(path)]
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise ConfigError("parts", f"{where}: {type(error).__name__}: {error}") from error
    return found


def _module_name(path: Path) -> str:
    return f"regard_parts:{path}"
