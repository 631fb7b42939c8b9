"""Runs made without training: of a folder of another program, with a certificate in it, or as the mean of runs."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from regard.config import as_values, read_checked, read_settings, write_checked
from regard.data.columns import load_columns, vocabulary_folders
from regard.errors import ConfigError, RegardError
from regard.exchange.certificate import Certificate, certify, source_texts
from regard.exchange.format import DEFAULT_OPTIONS, Foreign, Format, ReadOptions
from regard.experiment import Experiment
from regard.ops.modules import skip_init
from regard.predictor import Predictor, load
from regard.runs import Run, RunFolder
from regard.runs.folder import IMPORTED
from regard.runs.measurements import CERTIFICATE
from regard.runs.run import model_of
from regard.training import checkpoint as files
from regard.training.best_checkpoints import average
from regard.training.shards import Tensors

CHECKED_TEXTS = 20  # texts that are compared unless a person says how many


class Imported(NamedTuple):
    """A run that was made of a folder."""

    format: Format
    predictor: Predictor
    certificate: Certificate


def import_folder(
    row: Format,
    folder: Path,
    run: Path,
    *,
    options: ReadOptions = DEFAULT_OPTIONS,
    texts: Sequence[str] = (),
    count: int = CHECKED_TEXTS,
    say: Callable[[str], None] = print,
) -> Imported:
    """Make a run of a folder, and compare it with the format's own program, where that is installed.

    `count` texts are compared: the first of `texts`, or some made of pieces of the vocabulary. Raises CheckpointError
    for a folder that cannot be read, ConfigError where there is something at the place of the run.
    """
    _freed(run).check_free(resumed=False)
    foreign = row.read(folder, options)
    write_run(foreign, run)
    predictor = load(run)
    say(f"imported {folder} ({foreign.origin['architecture']}) as {run}")
    if foreign.not_carried:
        say(f"not carried over, since no search here has it: {', '.join(foreign.not_carried)}")
    program = row.program(folder, predictor) if count else None
    certificate = certify(predictor, program, source_texts(predictor, count, texts))
    predictor.run.measurements.keep(CERTIFICATE, {"format": row.name, **certificate.values()})
    say(certificate.line(row.program_hint))
    if certificate.similarity is not None and certificate.similarity < row.min_similarity:
        differing = certificate.texts - certificate.equal
        say(f"warning: {differing:,} of {certificate.texts:,} translations differ from {certificate.program}")
    return Imported(row, predictor, certificate)


def average_runs(runs: Sequence[Path], run: Path, weights: Sequence[float] = ()) -> None:
    """Make a run whose weights are the mean of those of translators, weighed if `weights` are given.

    Runs that start from one run lie in one basin of the loss: their mean often beats each (model soups,
    https://arxiv.org/abs/2203.05482); the mean of a start and its adaptation forgets less
    (https://arxiv.org/abs/2109.01903). Settings are those of the first. Raises ConfigError for runs that differ in
    network or vocabularies, and for weights that do not fit.
    """
    if wrong := [one for one in weights if not 0 <= one < math.inf]:  # no comparison holds for NaN
        raise ConfigError("--weights", f"{wrong[0]:g} is not a weight", "finite numbers, 0 or more")
    if weights and (len(weights) != len(runs) or not sum(weights)):
        raise ConfigError("--weights", f"names {len(weights)} weights for {len(runs)} runs", "one each, 0 or more")
    opened = [Run.open(one) for one in runs]
    first = opened[0]
    if first.experiment.task.name != "translation":
        raise ConfigError(str(first.path), f"is a run of {first.experiment.task.name}", "name translators")
    keys = {name: column.key() for name, column in first.vocabularies.items()}
    for other in opened[1:]:
        place, hint = str(other.path), "runs with one start, or with the same model and the same vocabularies"
        if other.experiment.model != first.experiment.model:
            raise ConfigError(place, f"has another network than {first.path}", hint)
        if {name: column.key() for name, column in other.vocabularies.items()} != keys:
            raise ConfigError(place, f"has other vocabularies than {first.path}", hint)
    parts = ", ".join(f"{one.path.name} {one.weights_digest[:12]}" for one in opened)
    mean = average([one.weights() for one in opened], weights or None)
    run_of_weights(opened, mean, run, folder=parts, architecture="mean of their weights")


def run_of_weights(starts: Sequence[Run], weights: Tensors, run: Path, *, folder: str, architecture: str) -> None:
    """Make a run with the settings and vocabularies of the first of `starts`, and the licences of all.

    Folder and architecture are those of `Foreign`.
    """
    start, origin = starts[0], {**origin_of_runs(starts, architecture), "folder": folder}
    places = vocabulary_folders(start.experiment.vocabularies, shared=start.experiment.text.shared)
    cut = {places[name]: column.tokenizer for name, column in start.vocabularies.items()}
    tokenizers = {place: one for place, one in cut.items() if one is not None}
    write_run(Foreign(as_values(start.experiment), weights, tokenizers, origin), run)


def origin_of_runs(runs: Sequence[Run], architecture: str) -> dict[str, Any]:
    """Return the origin of a model made of runs, as of an import: their names, and their licences if all have one."""
    licences = {run.path.resolve(): imported_of(run).get("license") for run in runs}
    names = ", ".join(path.parent.name if path.name == "model" else path.name for path in licences)
    stated = ", ".join(sorted({*map(str, licences.values())})) if all(licences.values()) else None
    empty: dict[str, Any] = {"files": {}, "not_carried": []}
    return {"format": "runs", "folder": names, "architecture": architecture, "license": stated, **empty}


def write_run(foreign: Foreign, run: Path) -> None:
    """Make a run folder of a model. Raises CheckpointError for weights that do not fit the settings."""
    experiment, place = read_settings(Experiment, {**foreign.settings, "run": str(run)}), _freed(run)
    with place.created(), place.preparing(experiment):
        write_checked(run / IMPORTED, {**foreign.origin, "not_carried": [*foreign.not_carried]})  # first: see _freed
        place.begin({})
        for name, tokenizer in foreign.tokenizers.items():
            tokenizer.save(place.text / name)
        for name, content in foreign.files.items():
            (run / name).write_bytes(content)
        place.seal()
        columns = load_columns(experiment.vocabularies, place.text, shared=experiment.text.shared)
        with skip_init():  # every weight is given
            model = model_of(experiment, columns)
        fill(model, foreign.weights)
        made = files.step_folder(run, 0)
        files.write(made, files.content_of(model), {"update": 0, "best": {"ranked": [], "waited": 0}})
        write_checked(run / files.FINAL, {"checkpoint": made.name})


def imported_of(run: Run) -> dict[str, Any]:
    """Return where the model of a run, or of the one that it started from, was imported from; {} if it was not."""
    file = run.path / IMPORTED
    return read_checked(file) if file.is_file() else {}


def _freed(run: Path) -> RunFolder:
    """Return the folder of a run to make, without what a killed import has left there: a model without weights.

    Raises ConfigError where another process makes it now.
    """
    place = RunFolder(run)
    if (run / IMPORTED).is_file() and not place.started:
        with place.held(make=True):
            if not place.started:  # nor did the holder of the lock before finish it
                place.remove()
    return place


def fill(model: nn.Module, weights: Tensors) -> None:
    """Put weights into a model; of tied tensors one is enough. Raises RegardError for those that do not fit."""
    state = model.state_dict()
    places = {tensor.data_ptr(): name for name, tensor in state.items()}
    given = {state[name].data_ptr() for name in weights if name in state}
    missing = [name for place, name in places.items() if place not in given and state[name].numel()]
    strange = [name for name in weights if name not in state or state[name].shape != weights[name].shape]
    if missing or strange:
        name = (missing or strange)[0]
        raise RegardError(f"the weights do not fit the settings: {name} is {'missing' if missing else 'another shape'}")
    for name, value in weights.items():
        state[name].copy_(value)
