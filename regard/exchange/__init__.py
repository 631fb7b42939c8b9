"""Folders of other programs' translators, read and written. One file a row."""

import fcntl
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regard.config import SETTINGS_FILE, as_values, read_checked
from regard.data.sealed import file_digest
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange.card import model_card
from regard.exchange.certificate import Certificate
from regard.exchange.ctranslate2 import CTranslate2Format
from regard.exchange.export_run import export_folder
from regard.exchange.format import Format, digest_of_texts, json_object
from regard.exchange.graphs.formats import OnnxFormat, TorchFormat
from regard.exchange.huggingface import CONFIG_FILE, HuggingFaceFormat
from regard.exchange.huggingface_weights import ARCHITECTURES
from regard.exchange.import_run import IMPORTED, average_runs, import_folder
from regard.exchange.marian.firefox import FirefoxFormat
from regard.exchange.marian.format import MarianFormat
from regard.exchange.page import PageFormat
from regard.exchange.runtime import RuntimeFormat
from regard.predictor import load
from regard.predictor.engines import EXPORT_FOLDER, ExportEngine, engine_named, export_of
from regard.registry import Choice, Registry
from regard.runs import Run, RunFolder
from regard.training.world import process_count

FORMATS: Registry[Format] = Registry(
    "format",
    {
        "ctranslate2": CTranslate2Format,
        "firefox": FirefoxFormat,
        "huggingface": HuggingFaceFormat,
        "marian": MarianFormat,
        "onnx": OnnxFormat,
        "page": PageFormat,
        "runtime": RuntimeFormat,
        "torch": TorchFormat,
    },
)

ENGINE_EXPORTS = "engines"  # in a run: its exports, by engine and search


def format_named(name: str, settings: Mapping[str, Any] = MappingProxyType({})) -> Format:
    """Return a format by its name or another one of it, with settings. Raises ConfigError for an unknown one."""
    found = FORMATS.find(name) or Choice(name)
    return FORMATS.build(Choice(found.name, {**found.settings, **settings}))


def format_of(folder: Path) -> Format:
    """Return the format of a folder. Raises CheckpointError where none has it."""
    if not folder.is_dir():
        raise CheckpointError(folder, "there is no such folder")
    if (folder / SETTINGS_FILE).is_file():
        problem = "is a run of Regard already, so there is nothing to import"
        raise CheckpointError(folder, problem, f"regard predict {folder}, regard serve {folder} …")
    rows = [FORMATS.build(Choice(one)) for one in FORMATS]
    found = next((row for row in rows if row.recognises(folder)), None)
    if found is None:
        names = [row.name for row in rows if row.reads]
        raise CheckpointError(folder, f"is not a folder of {' or '.join(names)}", "--format NAME, if it is one")
    return found


def start_of(folder: Path, run: Path | None, say: Callable[[str], None]) -> Path:
    """Return the run to start from: `folder`, or the run that is made of it where it is another program's translator.

    That run stands beside `run`, as NAME-imported; one that is there is used again if it was made of the same files.
    What a killed import has left is made again. Folders of encoders of Hugging Face are returned as they are. Raises
    CheckpointError for a folder that cannot be imported, ConfigError where something else stands at the place of the
    run, and under torchrun, where each process would import.
    """
    if (folder / SETTINGS_FILE).exists() or not folder.is_dir():
        return folder
    row = format_of(folder)
    if row.name == HuggingFaceFormat.name and json_object(folder / CONFIG_FILE).get("model_type") not in ARCHITECTURES:
        return folder
    place = (Path("runs") if run is None else run.parent) / f"{folder.resolve().name}-imported"
    hint = f"regard import {folder} -o RUN, then --from RUN"
    if (place / IMPORTED).is_file() and RunFolder(place).started:
        noted = read_checked(place / IMPORTED)["files"]
        if any(not (folder / name).is_file() or file_digest(folder / name) != one for name, (_, one) in noted.items()):
            raise ConfigError("--from", f"'{place}' was imported from other files than {folder} has", hint)
        say(f"{place} was imported from {folder} before")
    elif process_count() > 1:
        raise ConfigError("--from", f"'{folder}' is not a run, and several processes cannot import it", hint)
    else:
        import_folder(row, folder, place, say=say)
    return place


def export_for_engine(folder: Path, engine: str, changes: Sequence[str], say: Callable[[str], None]) -> Path:
    """Return an export that an engine opens: the folder itself, or that of a run, in its folder `engines`.

    Each search has its own. It is made where there is none, and again where it is damaged or has other weights than the
    run with `changes`; what is there stays until the new one is checked. One process exports, and others wait for it.
    Raises RegardError for a run that cannot be exported, ConfigError for an engine that is not there.
    """
    row = engine_named(engine)
    if (folder / EXPORT_FOLDER).is_dir():
        return folder
    run = Run.open(folder, changes)
    search = json.dumps(as_values(run.experiment.decoding.search), sort_keys=True)
    place = run.path / ENGINE_EXPORTS / f"{engine}-{digest_of_texts([search])[:8]}"
    if _is_export_of(run, place, row):
        return place
    place.parent.mkdir(exist_ok=True)
    with (place.parent / ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not _is_export_of(run, place, row):  # another process may have made it meanwhile
            export_folder(format_named(engine), load(folder, changes), place, say=say, replace=True)
    return place


def _is_export_of(run: Run, place: Path, row: ExportEngine) -> bool:
    """Return whether a folder is an undamaged export of the weights of a run."""
    try:
        return export_of(place, row).weights_digest == run.weights_digest
    except RegardError:
        return False


__all__ = [
    "FORMATS",
    "Certificate",
    "Format",
    "average_runs",
    "export_folder",
    "export_for_engine",
    "format_named",
    "format_of",
    "import_folder",
    "model_card",
    "start_of",
]
