"""The benchmark of several languages: what each system learns from, and how long."""

import gzip

import pytest
import yaml

from benchmarks import benchmark
from regard.experiment import read_experiment
from regard.training.schedules import InverseSqrtSchedule, LinearSchedule

several = benchmark("several_languages")
SYSTEMS = {system.name: system for system in several.SYSTEMS}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(several, "DATA", tmp_path)
    for language in ("en", *several.LANGUAGES):
        for name in ("train", "val", "test2016"):
            lines = "".join(f"{language} {number}\n" for number in range(7))
            (tmp_path / f"{name}.{language}.gz").write_bytes(gzip.compress(lines.encode()))
    several.written(tmp_path, 2, different=True)
    return tmp_path


def experiment_of(folder, name):
    words = several.words_of(folder, SYSTEMS[name], several.Size(dim=8, layers=1, updates=10))
    return read_experiment(None, [word for word in words if not word.startswith("init=")])


@pytest.mark.parametrize(("different", "lines"), [(False, (0, 1)), (True, (4, 5))])
def test_pairs_of_a_language_stay_pairs(folder, different, lines):
    """Of all languages the same ones, or for the third one those behind the other two."""
    several.written(folder, 2, different=different)
    for code in ("en", "cs"):
        assert (folder / f"train-cs.{code}").read_text() == "".join(f"{code} {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("name", "pairs", "updates"),
    [
        ("single-fr", {"train": ("en", "fr")}, 10),
        ("one_to_many", {"train": ("en", "de"), "fr": ("en", "fr"), "cs": ("en", "cs")}, 30),
        ("two", {"train": ("en", "de"), "fr": ("en", "fr")}, 20),
        ("many_to_many", {"train": ("en", "de"), "fr": ("en", "fr"), "cs": ("en", "cs")}, 30),
    ],
)
def test_a_language_has_as_many_updates_in_every_system(folder, name, pairs, updates):
    experiment = experiment_of(folder, name)
    found = {view: each.data.language_pair() for view, each in experiment.views().items()}
    assert (found, experiment.training.max_updates) == (pairs, updates)
    assert experiment.training.schedule.settings["warmup"] == several.WARMUP * updates // 10
    assert len({*experiment.data.weights.values()}) <= 1


def test_a_language_is_added_without_texts_of_the_others(folder):
    """A system of three languages that learns one: without a run to start from nothing would teach the others."""
    system = SYSTEMS["added-frozen"]
    changes = several.texts(folder, system)
    trained = {change.split("=")[0] for change in changes if ".train." in change}
    assert trained == {"data.train.source", "data.train.target"}
    assert any(change.startswith("data.routes.de.test.target=") for change in changes)
    assert several.words_of(folder, system, several.Size(8, 1, 10))[-1] == f"init={{run: {folder}/two, frozen: true}}"


def test_the_rate_falls_from_where_it_was_to_nothing():
    size = several.Size(dim=8, layers=1, updates=3000, fall=1500)
    limit, rate, schedule = (word.partition("=")[2] for word in size.falling(3))
    line = LinearSchedule(float(rate), updates=yaml.safe_load(schedule)["updates"])
    before = InverseSqrtSchedule(several.PEAK, warmup=3 * several.WARMUP)
    assert line.value(9000) == pytest.approx(before.value(9000), rel=1e-3)
    assert line.value(int(limit)) == 0


def test_a_row_has_the_mean_where_all_languages_are():
    scores = {"de": {"value": 10.0}, "fr": {"value": 20.0}, "cs": {"value": 33.0}}
    assert several.row_of("all", scores) == "| all | 10.00 | 20.00 | 33.00 | 21.00 |"
    assert several.row_of("two", {"de": scores["de"], "fr": scores["fr"]}) == "| two | 10.00 | 20.00 |  |  |"
