"""Advice for few pairs is given between the sizes that were measured, for translators from scratch alone."""

from types import SimpleNamespace

import pytest
from small_runs import SMALL, regard, write_texts

from regard.experiment import read_experiment, time_plan
from regard.experiment.time_plan import TRAINING, TrainingPace
from regard.recipes.best import phrases, program
from regard.recipes.best.phrases import PhraseTimes
from regard.recipes.best.program import PHRASES_LEAD, phrases_advice
from regard.recipes.best.step import NoGainError
from regard.recipes.best.steps import BEST_STEPS
from regard.reports.forecast import coefficients

FREE = [change for change in SMALL if "max_updates" not in change]


@pytest.fixture(autouse=True)
def quick_phrases(monkeypatch):
    """Phrases take two seconds, without a measurement."""
    monkeypatch.setattr(program, "times_of", lambda *_: PhraseTimes(fit=1.0, dev=1.0))


def experiment(folder, pairs, *changes):
    file = folder / "few pairs.tsv"
    file.write_text("a\tb\n" * pairs, encoding="utf-8")
    return read_experiment(file, changes)


def write_few(folder):
    """As many pairs as get advice; return the options that name their files."""
    options = write_texts(folder)
    for name in ("a.en", "a.de"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text * (PHRASES_LEAD[0] // 12 + 1), encoding="utf-8")
    return options


@pytest.mark.parametrize(
    ("pairs", "given"),
    [(PHRASES_LEAD[0] - 1, False), (PHRASES_LEAD[0], True), (PHRASES_LEAD[1], True), (PHRASES_LEAD[1] + 1, False)],
)
def test_advice_between_the_measured_sizes(tmp_path, monkeypatch, pairs, given):
    monkeypatch.chdir(tmp_path)
    said = phrases_advice(experiment(tmp_path, pairs))
    assert bool(said) is given
    if given:
        assert f"{pairs:,} pairs" in said
        assert said.endswith("regard best 'few pairs.tsv' --minutes 60")


@pytest.mark.parametrize(("limit", "advised"), [("0.5", 10), ("25", 25)])
def test_the_advised_time_is_one_that_best_accepts(tmp_path, monkeypatch, limit, advised):
    few = experiment(tmp_path, 1_000, f"training.max_minutes={limit}", *SMALL)
    assert phrases_advice(few).endswith(f" --minutes {advised}")
    monkeypatch.setattr(program, "measured_times", lambda texts: PhraseTimes(fit=1e6, dev=1.0))  # the slowest phrases
    program._check_minutes(60.0 * advised, None)


def test_advice_names_files_from_the_working_directory(tmp_path, monkeypatch):
    few = experiment(tmp_path, 1_000)
    (tmp_path / "inside").mkdir()
    for folder, name in ((tmp_path, "'few pairs.tsv'"), (tmp_path / "inside", "'../few pairs.tsv'")):
        monkeypatch.chdir(folder)
        assert f"regard best {name} --minutes" in phrases_advice(few)


def test_advice_names_a_file_for_each_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de", "dev.en", "dev.de"):
        (tmp_path / name).write_text("x\n" * 1000, encoding="utf-8")
    files = {"train.source": "a.en", "train.target": "a.de", "dev.source": "dev.en", "dev.target": "dev.de"}
    said = phrases_advice(read_experiment(None, [f"data.{key}={tmp_path / name}" for key, name in files.items()]))
    options = {key.replace("train.", "").replace(".", "-"): name for key, name in files.items()}
    assert all(f"--{option} {name}" in said for option, name in options.items())


def test_phrases_need_no_advice(tmp_path):
    assert not phrases_advice(experiment(tmp_path, 1000, "task=phrases"))


@pytest.mark.parametrize(
    ("seconds", "changes", "warned"),
    [(5.0, [], True), (0.05, [], False), (5.0, ["task=phrases"], False)],
)
def test_too_few_updates_for_the_pairs_are_one_warning(tmp_path, monkeypatch, seconds, changes, warned):
    """Ten minutes of updates that take five seconds are 102, and 85 % of them are trained."""
    few = experiment(tmp_path, 3_000, "training.max_minutes=10", *([] if changes else FREE), *changes)
    monkeypatch.setattr(coefficients, "examples_of_update", lambda experiment: 64)
    updates = round(10 * 60 * TRAINING / seconds)
    said = coefficients.hopeless_plan(few, updates)
    assert bool(said) is warned
    if warned:
        assert said.startswith("in 10 minutes (about 102 updates) a network reaches at most ")
        assert coefficients.hopeless_plan(experiment(tmp_path, 3_000, *SMALL), updates) == ""  # no limit of time
        assert coefficients.hopeless_plan(few, None) == ""


def test_train_warns_of_a_hopeless_plan_and_trains(tmp_path, monkeypatch):
    """One forecast of updates, and one command with a time that `regard best` accepts for phrases."""
    monkeypatch.setattr(time_plan, "measured_pace", lambda experiment: TrainingPace(5.0, 64, 5.0))
    monkeypatch.setattr(program, "times_of", lambda *_: PhraseTimes(fit=300.0, dev=300.0))
    monkeypatch.chdir(tmp_path)
    done = regard("train", *write_few(tmp_path), *SMALL, "--minutes", "5", "--run", tmp_path / "run")
    assert done.code == 0, done.said
    (plan,) = (line for line in done.said.splitlines() if line.startswith("planned: "))
    (line,) = (line for line in done.said.splitlines() if "of the BLEU of phrases" in line)
    assert f"about {round(5 * 60 * TRAINING / 5)} updates" in plan
    assert line.startswith("warning: in 5 minutes (about 2 updates) a network")
    assert done.said.count("regard best") == 1
    command, minutes = line.rsplit(" --minutes ", 1)
    assert "regard best --source a.en" in command
    assert int(minutes) == program._least_minutes(PhraseTimes(300.0, 300.0)) > 10


def test_the_least_time_of_phrases_is_accepted_and_counts_them(monkeypatch):
    times = PhraseTimes(fit=100.0, dev=500.0)
    monkeypatch.setattr(phrases, "measured_times", lambda texts: times)
    seconds, shares = (
        60.0 * program._least_minutes(times),
        [one.fraction for one in BEST_STEPS.values() if not one.text],
    )
    work = SimpleNamespace(texts=None, seconds_left=seconds)
    share = BEST_STEPS["phrases"].fraction / sum(shares)
    assert phrases.affordable_tuning(work, seconds * share).seconds >= 0
    with pytest.raises(NoGainError):
        phrases.affordable_tuning(work, (seconds - 60.0) * share)


def test_phrases_of_an_experiment_are_timed_by_a_sample(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(program, "times_of", lambda *given: seen.append(given) or PhraseTimes(1.0, 1.0))
    assert program.phrase_minutes(experiment(tmp_path, 3_000, *SMALL)) == 1
    ((sample, pairs, dev),) = seen
    assert (len(sample), pairs, len(dev)) == (program.MEASURED_PAIRS, 3_000, 300)


def test_advice_is_printed_once(tmp_path):
    words = [*write_few(tmp_path), *SMALL, "--run", tmp_path / "run"]
    assert regard("train", *words).said.count("phrases and a network together") == 1
    assert "regard best" not in regard("train", tmp_path / "run", "--resume", "training.max_updates=3").said
