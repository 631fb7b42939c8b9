"""A thousand flipped bits and cuts over every byte of every file of a run: told in one line, or without effect."""

import shutil
from collections import Counter

import pytest
import torch
from damages import damaged, drawn_damages, spoil
from kill_points import result_of
from small_runs import SMALL, regard, write_texts

from regard import load
from regard.errors import RegardError
from regard.runs import Run, train_run
from regard.training.progress import Progress

DAMAGES = 1000
TEXTS = ["a dog runs", "two cats", "yes he reads"]
SETTINGS = [
    "text.shared=false", "text.tokenizer.sampling=0.1", "model.tied=target", "training.max_updates=4",
    "training.validate_every=2", "training.keep_best=2", "training.average=2", "training.metric=loss",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    done = regard("train", *SMALL, *SETTINGS, *write_texts(folder), "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def answers_of(run):
    return [(one.text, one.score) for one in load(run).predict(TEXTS)]


def weights_of(run):
    """Of the run gone on with."""
    assert train_run(Run.open(run, ["training.max_updates=6"]).experiment, resume=True, quiet=True)
    return result_of(run)[0], answers_of(run)


def same(weights, others):
    return weights.keys() == others.keys() and all(torch.equal(weights[name], others[name]) for name in weights)


def outcome(work, wanted):
    """told, harmless or silent."""
    try:
        found = work()
    except RegardError as error:
        return "told" if "\n" not in str(error) else f"several lines: {error}"
    return "harmless" if wanted(found) else "silent"


@pytest.mark.slow
def test_a_damaged_run_answers_as_before_or_tells_it(run):
    answers = answers_of(run)
    found = []
    for damage in drawn_damages(run, DAMAGES, seed=1):
        with damaged(run, damage):
            found.append((outcome(lambda: answers_of(run), lambda given: given == answers), damage))
    print(Counter(how for how, _ in found))
    assert [one for one in found if one[0] not in ("told", "harmless")] == []


@pytest.mark.slow
def test_a_damaged_run_goes_on_to_the_same_weights_or_tells_it(run, tmp_path, monkeypatch):
    """A checkpoint that is damaged is warned of, and the one before it taken."""
    warned = []
    monkeypatch.setattr(Progress, "warn", lambda progress, line: warned.append(line))
    weights, answers = weights_of(shutil.copytree(run, tmp_path / "whole"))
    found = []
    for damage in drawn_damages(run, DAMAGES, seed=2):
        copied = shutil.copytree(run, tmp_path / "damaged")
        spoil(copied, damage)
        how = outcome(lambda: weights_of(copied), lambda given: same(given[0], weights) and given[1] == answers)  # noqa: B023  used at once
        found.append((f"{how}, warned of" if warned else how, damage))
        warned.clear()
        shutil.rmtree(copied)
    print(Counter(how for how, _ in found))
    assert [one for one in found if one[0].partition(",")[0] not in ("told", "harmless")] == []
