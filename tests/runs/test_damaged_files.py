"""One flipped bit in any file that a run holds is reported, or the file is made again: no other answers in silence."""

import shutil
import warnings
from pathlib import Path

import pytest
import torch
from damages import Damage, spoil
from kill_points import result_of
from small_runs import SMALL, regard, write_texts

from regard import load
from regard.data.manifest import MANIFEST
from regard.errors import RegardError
from regard.recipes.tuning import FIRST_FEATURES, keep_choice
from regard.registry import Choice
from regard.runs import Run, train_run
from regard.runs.lexicons import learn_shortlist, learn_tables, learn_translations
from regard.runs.measurements import ALIGNMENT, CALIBRATION, GRADES
from regard.serve.engine.model_card import card_of
from regard.training.progress import Progress

TEXTS = ["a dog runs", "two cats"]
ALL = ["decoding.tuned=true", "decoding.shortlist=true", "decoding.adequacy=lexicon"]
HARMLESS = {".lock", "skipped.tsv"}  # a lock is empty; a list of lines for people, made again with the corpus


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """With everything that commands put into the folder of a translator."""
    place = tmp_path_factory.mktemp("full")
    linked = "penalties=guided_alignment"
    done = regard("train", *SMALL, linked, *write_texts(place), "--run", place / "run", "--quiet")
    assert done.code == 0, done.said
    made = Run.open(place / "run")
    learn_shortlist(made)
    learn_translations(made)
    learn_tables(made)
    keep_choice(
        made.path / "tuning" / "decoding.yaml", {"search": Choice("beam", {"size": 2}), "features": FIRST_FEATURES}
    )
    made.measurements.keep(CALIBRATION, {"items": {"name": "temperature", "settings": {"temperature": 2.0}}})
    made.measurements.keep(ALIGNMENT, {"ways": {}})
    made.measurements.keep(GRADES, {"lines": 4, "methods": {"lrp": 0.5}})
    return made.path


def used(run: Path) -> None:
    """Everything that reads a trained run reads it."""
    predictor = load(run, ALL)
    predictor.predict(TEXTS)
    predictor.run.measurements.grades()
    card_of(predictor)


def outcome(run: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """reported, or made again where the run goes on to the same weights; else silent."""
    said = list[str]()
    monkeypatch.setattr(Progress, "warn", lambda progress, line: said.append(line))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            used(run)
        said += [str(one.message) for one in caught]
        if not said:
            train_run(Run.open(run, ["training.max_updates=3"]).experiment, resume=True, quiet=True)
    except RegardError as error:
        said.append(str(error))
    assert not any("\n" in line for line in said)
    return "reported" if any(str(run) in line for line in said) else "silent"


def same(one: Path, other: Path) -> bool:
    """Whether the last checkpoints of two runs are equal to the bit."""
    ours, theirs = result_of(one)[0], result_of(other)[0]
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_full_run_is_used_without_a_word(run, tmp_path, monkeypatch):
    assert outcome(shutil.copytree(run, tmp_path / "run"), monkeypatch) == "silent"


def outcomes(run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, beside: bool) -> dict[str, str]:
    """Of one flipped bit in each file; `beside`: in those that are no corpus and in no checkpoint."""
    found = {}
    for path in (path for path in sorted(run.rglob("*")) if path.is_file() and path.name not in HARMLESS):
        name = path.relative_to(run).as_posix()
        if beside and name.startswith(("data/", "checkpoints/")):
            continue
        copied = shutil.copytree(run, folder / "damaged")
        spoil(copied, Damage(name, path.stat().st_size // 2, 1))
        found[name] = outcome(copied, monkeypatch)
        if found[name] == "silent" and same(copied, folder / "whole"):
            found[name] = "harmless"
        shutil.rmtree(copied)
    return found


def test_one_flipped_bit_beside_corpora_and_checkpoints_is_reported(run, tmp_path, monkeypatch):
    found = outcomes(run, tmp_path, monkeypatch, beside=True)
    assert len(found) > 14
    assert [name for name, how in found.items() if how != "reported"] == []


@pytest.mark.slow
def test_one_flipped_bit_anywhere_is_reported_or_harmless(run, tmp_path, monkeypatch):
    """A corpus is made again; of a checkpoint that is not the last one training needs nothing."""
    assert outcome(shutil.copytree(run, tmp_path / "whole"), monkeypatch) == "silent"
    found = outcomes(run, tmp_path, monkeypatch, beside=False)
    assert [name for name, how in found.items() if how == "silent"] == []
    harmless = [name for name, how in found.items() if how == "harmless"]
    assert all(name.startswith(("data/", "checkpoints/step-00000001/")) for name in harmless)


def test_a_run_without_notes_of_later_files_is_used(run, tmp_path, monkeypatch):
    older = shutil.copytree(run, tmp_path / "run")
    for path in (older / MANIFEST, older / "tuning" / MANIFEST):
        path.unlink()
    assert outcome(older, monkeypatch) == "silent"
