"""Advice for few pairs is given between the sizes that were measured, for translators from scratch alone."""

import pytest
from small_runs import SMALL

from regard.experiment import read_experiment
from regard.recipes.best import program
from regard.recipes.best.phrases import PhraseTimes
from regard.runs.training import PHRASES_LEAD, phrases_advice


def experiment(folder, pairs, *changes):
    file = folder / "few pairs.tsv"
    file.write_text("a\tb\n" * pairs, encoding="utf-8")
    return read_experiment(file, changes)


@pytest.mark.parametrize(
    ("pairs", "given"),
    [(PHRASES_LEAD[0] - 1, False), (PHRASES_LEAD[0], True), (PHRASES_LEAD[1], True), (PHRASES_LEAD[1] + 1, False)],
)
def test_advice_between_the_measured_sizes(tmp_path, pairs, given):
    said = phrases_advice(experiment(tmp_path, pairs))
    assert bool(said) is given
    if given:
        assert f"{pairs:,} pairs" in said
        assert said.endswith(f"regard best '{tmp_path}/few pairs.tsv' --minutes 60")


@pytest.mark.parametrize(("limit", "advised"), [("0.5", 10), ("25", 25)])
def test_the_advised_time_is_one_that_best_accepts(tmp_path, monkeypatch, limit, advised):
    few = experiment(tmp_path, 1_000, f"training.max_minutes={limit}", *SMALL)
    assert phrases_advice(few).endswith(f" --minutes {advised}")
    monkeypatch.setattr(program, "measured_times", lambda texts: PhraseTimes(fit=1e6, dev=1.0))  # the slowest phrases
    program._check_minutes(60.0 * advised, None)


def test_advice_names_a_file_for_each_column(tmp_path):
    for name in ("a.en", "a.de", "dev.en", "dev.de"):
        (tmp_path / name).write_text("x\n" * 1000, encoding="utf-8")
    files = {"train.source": "a.en", "train.target": "a.de", "dev.source": "dev.en", "dev.target": "dev.de"}
    said = phrases_advice(read_experiment(None, [f"data.{key}={tmp_path / name}" for key, name in files.items()]))
    options = {key.replace("train.", "").replace(".", "-"): name for key, name in files.items()}
    assert all(f"--{option} {tmp_path / name}" in said for option, name in options.items())


def test_phrases_need_no_advice(tmp_path):
    assert not phrases_advice(experiment(tmp_path, 1000, "task=phrases"))
