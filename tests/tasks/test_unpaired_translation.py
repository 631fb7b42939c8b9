"""Translation without pairs: the round trip of a text, and the words that it copies, where the answers are known."""

import numpy as np
import pytest

from regard.data.columns import small_columns
from regard.decoding import Hypothesis
from regard.errors import ConfigError
from regard.experiment import load_experiment
from regard.models import MODELS
from regard.registry import Choice
from regard.runs.run import task_of
from regard.tasks import unpaired_translation as module
from regard.tasks.task import measure_of
from regard.tasks.unpaired_translation import UnpairedTranslationTask, copied_words

TEXTS = ["ab ab ba ab ba", "ba ab ba ba"]


@pytest.fixture
def task():
    experiment = load_experiment(
        None, ["task=unpaired_translation", "data.train.source=a", "data.train.target=a", "model.languages=[de,en]"]
    )
    columns = small_columns(experiment.vocabularies, shared=True)
    model = MODELS.build(Choice("many_to_many", {"languages": ("de", "en"), "dim": 8}), columns)
    return task_of(experiment, columns).along("de"), model


def trip(task, monkeypatch, write):
    """The figures where `write` (route, ids) → ids stands for the search."""
    one, model = task
    routes = []

    def run(search, writer, batch):
        routes.append(batch.route)
        items, mask = batch.sequences("source")
        return [
            [Hypothesis(write(batch.route, row[known].tolist()[:-1]), 0.0, [], True)]
            for row, known in zip(items, mask, strict=True)
        ]

    monkeypatch.setattr(module.GreedySearch, "run", run)
    examples = {"source": ["x", "x"], "target": TEXTS}
    sums = one.losses(model, one.held(examples, 1000), examples).sum(axis=0)
    found = {key: measure_of(one, key) for key in ("round_trip", "copied")}
    outcome = type("Outcome", (), {"losses": sums[None]})()
    return routes, {key: measure.value(measure.statistics(outcome)[0]) for key, measure in found.items()}


def test_copies_have_a_perfect_round_trip_and_are_counted(task, monkeypatch):
    """So the round trip alone cannot choose: the share of copies stands beside it."""
    routes, found = trip(task, monkeypatch, lambda route, ids: ids)
    assert routes == ["en", "de"]  # there and back
    assert found["round_trip"] == pytest.approx(100)
    assert found["copied"] == pytest.approx(100)


def test_reversible_translation_returns_home(task, monkeypatch):
    _, found = trip(task, monkeypatch, lambda route, ids: ids[::-1])
    assert found["round_trip"] == pytest.approx(100)


def test_lost_text_has_no_round_trip(task, monkeypatch):
    _, found = trip(task, monkeypatch, lambda route, ids: ids[:1] if route == "en" else [])
    assert found["round_trip"] < 1


def test_copied_words_by_hand():
    assert copied_words("a man in a hat", "a a a hat of") == 3  # two of "a" and one of "hat"
    assert copied_words("", "a") == 0


def test_round_trip_chooses_and_needs_two_languages(task):
    one, model = task
    assert UnpairedTranslationTask.spec.metric == "round_trip"
    assert measure_of(one, "round_trip").higher_is_better is True
    with pytest.raises(ConfigError, match="a model of two languages"):
        one.along("translate").losses(model, [], {"target": []})
    assert np.isfinite(one.losses(model, one.held({"target": TEXTS}, 1000), {"target": TEXTS})).all()
