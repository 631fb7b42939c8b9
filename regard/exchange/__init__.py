"""Folders of other programs' translators, read and written. One file a row."""

import dataclasses
import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any

from safetensors import SafetensorError

from regard.config import SETTINGS_FILE, as_values, read_checked, write_checked
from regard.data.manifest import write_manifest
from regard.data.sealed import file_digest, making
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.exchange.card import model_card
from regard.exchange.certificate import Certificate, certify, source_texts
from regard.exchange.ctranslate2 import CTranslate2Format
from regard.exchange.format import Format, digest_of_texts
from regard.exchange.graphs.formats import OnnxFormat, TorchFormat
from regard.exchange.huggingface import HuggingFaceFormat
from regard.exchange.import_run import average_runs, import_folder
from regard.exchange.marian.firefox import FirefoxFormat
from regard.exchange.marian.format import MarianFormat
from regard.exchange.page import PageFormat
from regard.exchange.runtime import RuntimeFormat
from regard.experiment import DataSettings
from regard.ops.modules import count_parameters
from regard.predictor import Predictor, load
from regard.predictor.engines import ENGINES, EXPORT_FOLDER, engine_named, export_of
from regard.predictor.engines.export_engine import ExportEngine
from regard.registry import Choice, Registry
from regard.runs import Run, RunFolder
from regard.runs.folder import IMPORTED
from regard.runs.measurements import CERTIFICATE
from regard.runs.run import EXPORTED
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


def format_named(name: str, settings: Mapping[str, Any] = MappingProxyType({}), place: str | None = None) -> Format:
    """Return a format by its name or another one of it, with settings. Raises ConfigError for an unknown one.

    `place` is the option that names it; its settings are options beside it.
    """
    found = FORMATS.find(name) or Choice(name)
    if place is not None and found.name in FORMATS:
        for other in settings.keys() - FORMATS.settings(found.name).keys():
            raise ConfigError(f"--{other}", f"does not go with {place} {found.name}", "leave it out")
    try:
        return FORMATS.build(Choice(found.name, {**found.settings, **settings}), place=place)
    except ConfigError as error:
        if place is None:
            raise
        raise ConfigError.of(f._replace(place=f.place.replace(f"{place}.", "--")) for f in error.faults) from error


def format_of(folder: Path) -> Format:
    """Return the format of a folder. Raises CheckpointError where none has it."""
    if not folder.is_dir():
        raise CheckpointError(folder, "is not a folder" if folder.exists() else "there is no such folder")
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
    if not row.translates(folder):
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


def export_folder(
    row: Format,
    predictor: Predictor,
    folder: Path,
    *,
    texts: Sequence[str] = (),
    count: int = 100,
    license_name: str | None = None,
    replace: bool = False,
    say: Callable[[str], None] = print,
) -> Certificate:
    """Write a run as a folder of a format, with a certificate and a model card in it.

    `count` texts are compared: the first of `texts`, of the dev set, or some made of pieces of the vocabulary. Raises
    RegardError for a run that the format cannot hold, and with the first difference where texts are less similar than
    the format's `min_similarity`: then nothing is written. Both search as the format's `compared_search`. With
    `replace` a folder that is there gives way at the end.
    """
    if folder.exists() and not replace:
        raise RegardError(f"{folder}: exists already; choose another -o FOLDER")
    say(f"writing {quote(str(folder))} for {row.name}")
    with _naming_full_disk(folder), making(folder) as made:
        row.write(predictor, made)  # refuses a run that it cannot hold
        if row.name in ENGINES:
            write_run_without_weights(predictor, row, made)
        program, search = row.program(made, predictor) if count else None, row.compared_search(predictor.setup.search)
        compared = source_texts(predictor, count, texts)
        if program is not None:
            say(f"comparing {len(compared):,} translations")
        certificate = certify(predictor, program, compared, search)
        if certificate.similarity is not None and certificate.similarity < row.min_similarity:
            problem = f"the export was not written, since less than {row.min_similarity:.0%} of characters agree"
            raise RegardError(f"{folder}: {problem}; {certificate}")
        values = {"format": row.name, "sha256_of_weights": predictor.run.weights_digest, **certificate.values()}
        (made / CERTIFICATE).write_text(json.dumps(values, indent=1, ensure_ascii=False), encoding="utf-8")
        (made / "README.md").write_text(model_card(predictor, row, certificate, license_name), encoding="utf-8")
        if folder.exists():
            folder.rename(before := made.with_name(f"{made.name}.before"))
            made.rename(folder)
            shutil.rmtree(before, ignore_errors=True)
        else:
            made.rename(folder)
    say(f"wrote {quote(str(folder))}")
    say(certificate.line(row.program_hint))
    return certificate


@contextmanager
def _naming_full_disk(folder: Path) -> Iterator[None]:
    """Raise RegardError, with the folder that was asked for, where files cannot be written."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise RegardError(f"{folder}: the export was not written: {reason}") from error


def write_run_without_weights(predictor: Predictor, row: Format, folder: Path) -> None:
    """Write what an engine needs beside the model: settings, vocabularies, SHA-256 of its files, notes of the format.

    Files of training data are not named in it.
    """
    digests = {file.name: file_digest(file) for file in sorted(folder.iterdir()) if file.is_file()}
    run = predictor.run
    place, experiment = RunFolder(folder / EXPORT_FOLDER), run.experiment
    source, target = run.experiment.data.language_pair()
    data = DataSettings(languages=(source, target) if source and target else None)
    shutil.copytree(run.folder.text, place.text)
    kept = dataclasses.replace(experiment, data=data, run=None, init=None, device="auto")
    kept = dataclasses.replace(kept, parts=tuple(Path(one.name) for one in kept.parts))  # no path of this machine
    kept.save(place.path / SETTINGS_FILE)
    noted = {"format": row.name, "sha256_of_weights": run.weights_digest, "files": digests, **row.notes(predictor)}
    noted["parameters"] = count_parameters(predictor.model)
    write_checked(place.path / EXPORTED, noted)
    write_manifest(place.path, [path for path in sorted(place.path.rglob("*")) if path.is_file()])


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
    "average_runs",
    "export_folder",
    "export_for_engine",
    "format_named",
    "format_of",
    "import_folder",
    "model_card",
    "start_of",
]
