"""Engines of other programs, which answer from an export in place of the network. One file a row."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

from regard.augmentations import augmentations_of
from regard.data.sealed import file_digest
from regard.decoding import SEARCHES
from regard.errors import CheckpointError, ConfigError
from regard.experiment import DecodingSettings
from regard.predictor.engines.ctranslate2 import CTranslate2Engine
from regard.predictor.engines.export_engine import EXPORT_FOLDER, Export, ExportEngine
from regard.predictor.engines.graphs import OnnxEngine
from regard.predictor.engines.runtime import RuntimeEngine
from regard.predictor.predictor import Predictor
from regard.predictor.setup import Abilities
from regard.predictor.source_context import SourceContext
from regard.registry import Choice, Registry
from regard.runs import Run
from regard.runs.run import task_of

# no row for torch: its loader unpickles what a folder holds, and an export may come from a stranger
ENGINES: Registry[ExportEngine] = Registry(
    "engine", {"ctranslate2": CTranslate2Engine, "onnx": OnnxEngine, "runtime": RuntimeEngine}
)

_SETTINGS = ("features", "shortlist", "ensemble", "adequacy", "rerank", "consensus")  # of decoding, beside the search


def engine_named(name: str) -> ExportEngine:
    """Return an engine by its name. Raises ConfigError for an unknown one, and where its program is not installed."""
    row = ENGINES.build(ENGINES.find(name) or Choice(name))
    missing = [package for package in row.packages if find_spec(package) is None]
    if missing:
        raise ConfigError("--engine", f"{row.name} is not installed", f"pip install -e '.[{row.extra}]'")
    return row


def export_of(folder: Path, row: ExportEngine, changes: Sequence[str] = ()) -> Run:
    """Return the run without weights in an export.

    Raises CheckpointError for a folder that is not of the engine, and for a file that is missing or damaged.
    `changes` may name the file of the run's own parts.
    """
    inside = folder / EXPORT_FOLDER
    if not inside.is_dir():
        hint = f"regard export RUN --to {row.name} -o FOLDER makes one"
        raise CheckpointError(folder, "is not an export of Regard", hint)
    run = Run.open(inside, changes)
    if run.exported is None or run.exported["format"] != row.name:
        other = "unknown" if run.exported is None else run.exported["format"]
        raise CheckpointError(folder, f"is an export to {other}, and {row.name} cannot run it", f"--engine {other}")
    files = run.exported.get("files", {})
    if not isinstance(files, dict) or any(Path(name).name != name for name in files):
        raise CheckpointError(folder, "does not name its files", "export the run again")
    for name, digest in files.items():
        if not (folder / name).is_file() or file_digest(folder / name) != digest:
            raise CheckpointError(folder / name, "is missing or damaged", "export the run again")
    return run


def load_export(folder: Path, engine: str, changes: Sequence[str] = (), *, threads: int | None = None) -> Predictor:
    """Open an export with its engine; `threads` batches are computed at once, by default as many as torch has threads.

    Raises CheckpointError for a folder that is not an export of this engine, ConfigError for an engine that is not
    installed, and for settings that it does not have.
    """
    row = engine_named(engine)
    run = export_of(folder, row, changes)
    settings, task = run.experiment.decoding, task_of(run.experiment, run.columns)
    abilities = Abilities(row.name, row.supported)
    _check(settings, run.experiment.device, abilities)
    export = Export(folder, run, task, threads or torch.get_num_threads())
    opened, search = row.open(export), SEARCHES.build(settings.search)
    languages = run.experiment.data.language_pair()
    found = Predictor(
        opened.model, task, opened.engine(search), run=run, settings=settings, search=search, languages=languages
    )
    found.setup.for_search = lambda search, _: opened.engine(search)  # no engine has features
    found.setup.abilities = abilities
    found.setup.context = SourceContext(augmentations_of(run.experiment.data.source_augmentations))
    found.setup.context.term_method(settings.terms)
    return found


def _check(settings: DecodingSettings, device: str, abilities: Abilities) -> None:
    """Raise ConfigError for settings that an engine does not have."""
    for name in _SETTINGS:
        if getattr(settings, name):
            abilities.check(name, f"decoding.{name}")
    if settings.precision != "float32":
        abilities.check("precision", "decoding.precision")
    if device not in ("auto", "cpu"):
        abilities.check("gpu", "device")


__all__ = ["ENGINES", "EXPORT_FOLDER", "engine_named", "export_of", "load_export"]
