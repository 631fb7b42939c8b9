"""`regard export`: a run → a folder of another program, checked beside that program while it is written."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from safetensors import SafetensorError

from regard.config import SETTINGS_FILE, write_checked
from regard.data.manifest import write_manifest
from regard.data.sealed import file_digest, making
from regard.errors import RegardError
from regard.exchange.card import model_card
from regard.exchange.certificate import Certificate, certify, sampled_texts
from regard.exchange.format import Format
from regard.experiment import DataSettings
from regard.predictor import Predictor
from regard.predictor.engines import ENGINES, EXPORT_FOLDER
from regard.runs import RunFolder
from regard.runs.measurements import CERTIFICATE
from regard.runs.run import EXPORTED
from regard.runs.texts import dev_examples


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
    RegardError for a run that the format cannot hold, and with the first difference where fewer texts are equal than
    the format's `min_equal`: then nothing is written. Both search as the format's `compared_search`. With `replace` a
    folder that is there gives way at the end.
    """
    if folder.exists() and not replace:
        raise RegardError(f"{folder}: exists already; choose another -o FOLDER")
    with _naming_full_disk(folder), making(folder) as made:
        row.write(predictor, made)  # refuses a run that it cannot hold
        asked = [text for text in texts if text.strip()][:count] or checked_texts(predictor, count)
        if row.name in ENGINES:
            write_run_without_weights(predictor, row, made)
        search = row.compared_search(predictor.setup.search)
        certificate = certify(predictor, row.program(made, predictor) if count else None, asked, search)
        if certificate.program and certificate.equal < row.min_equal * certificate.texts:
            raise RegardError(f"{folder}: the export was not written, since texts differ; {certificate}")
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
    missing = certificate.texts and not certificate.program and row.program_hint
    say(f"{certificate} ({row.program_hint})" if missing else str(certificate))
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
    write_checked(place.path / EXPORTED, noted)
    write_manifest(place.path, [path for path in sorted(place.path.rglob("*")) if path.is_file()])


def checked_texts(predictor: Predictor, count: int) -> list[str]:
    """Return the first sources of the dev set of a run, or texts made of pieces where its files are gone."""
    try:
        found = dev_examples(predictor.run.experiment, predictor.task, lambda line: None)
    except (RegardError, OSError):
        found = None
    sources = [] if found is None else [text for text in found["source"] if text.strip()]
    return sources[:count] or sampled_texts(predictor, count)
