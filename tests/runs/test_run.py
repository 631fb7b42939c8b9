"""A run is opened once: settings are parsed, and files hashed, a single time by what loads it or reports on it."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from engines import tiny_run_in

from regard import load
from regard.config import SETTINGS_FILE, Choice
from regard.errors import ConfigError, RegardError
from regard.experiment import Experiment
from regard.experiment.settings import DecodingSettings
from regard.predictor import predictor_of
from regard.recipes.tuning import keep_choice
from regard.reports.confidence import calibrate_run, uncalibrated
from regard.reports.evaluation import evaluate
from regard.reports.explanations import grade_run
from regard.reports.heads import measured_heads
from regard.runs import Run
from regard.runs import run as opening
from regard.runs.run import task_of
from regard.serve.engine.answering import Answering


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    run = tiny_run_in(tmp_path_factory.mktemp("run"))
    for side, text in (("source", "two cats\na dog runs\n"), ("target", "zwei Katzen\nein Hund läuft\n")):
        (run / f"{side}.txt").write_text(text, encoding="utf-8")
    (run / "tuning").mkdir()
    keep_choice(run / "tuning" / "decoding.yaml", {"search": Choice("beam", {"size": 2})})
    return run


@pytest.fixture
def counts(monkeypatch):
    """Calls by what was read: "settings", or the name of a file of which a digest was made."""
    found, digest, read = Counter[str](), hashlib.file_digest, opening.read_yaml

    def digested(file, name):
        found[Path(file.name).name] += 1
        return digest(file, name)

    def loaded(path):
        found["settings"] += path.name == SETTINGS_FILE
        return read(path)

    monkeypatch.setattr(hashlib, "file_digest", digested)
    monkeypatch.setattr(opening, "read_yaml", loaded)
    return found


def silent(line: str) -> None:
    pass


PROGRAMS = {
    "load": load,
    "tuned": lambda run: load(run, ["decoding.tuned=true"]),
    "heads": lambda run: measured_heads(load(run), 1, False, silent),
    "grades": lambda run: grade_run(load(run), [], 1, silent),
    "calibration": lambda run: calibrate_run(uncalibrated(run, []), lines=4),
    "evaluation": lambda run: evaluate([run], {"source": run / "source.txt", "target": run / "target.txt"}),
    "server": lambda run: Answering.load(run, batch_tokens=512),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_opens_a_run_once(folder, counts, program):
    try:
        PROGRAMS[program](folder)
    except RegardError:  # of a part that this run does not have; it was opened before
        assert counts["settings"] == 1
    repeated = {name: count for name, count in counts.items() if count > 1 and name != "metrics.jsonl"}
    assert counts["settings"] == 1 and counts["experiment.yaml"] == 1
    assert repeated == {}


def test_a_predictor_has_the_run_that_was_opened(folder):
    run = Run.open(folder, ["decoding.search=greedy"])
    predictor = predictor_of(run)
    assert predictor.run is run
    assert run.experiment.decoding.search.name == "greedy" and run.path == folder
    assert run.columns.keys() == predictor.task.vocabularies.keys()
    assert run.checkpoint.model == {} and run.weights().keys() == predictor.model.state_dict().keys()


def test_raw_text_names_the_run_that_it_does_not_fit():
    """Several runs may be served with the same settings."""
    experiment = Experiment(run=Path("runs/en-de"), decoding=DecodingSettings(raw_text=True))
    with pytest.raises(ConfigError, match=r"decoding\.raw_text.*runs/en-de.*translation"):
        task_of(experiment, {})
