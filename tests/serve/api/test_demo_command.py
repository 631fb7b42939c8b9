"""`regard demo --serve`: trains once, then serves."""

import socket

import pytest
from small_runs import regard, unsaid

from regard.recipes import demo as recipe
from regard.serve import server
from regard.training.checkpoint import FINAL


@pytest.fixture
def done(monkeypatch) -> list:
    """What was done, in place of doing it: languages that were trained, and runs with ports that were served."""
    told: list = []

    def trained(run, language):
        for folder in (recipe.TEXTS, recipe.MODEL):
            (run / folder).mkdir(parents=True, exist_ok=True)
        (run / recipe.MARK).touch()
        (run / recipe.TEXTS / f"train.{language}").touch()
        (run / recipe.MODEL / FINAL).touch()
        told.append(language)
        return recipe.Outcome(100.0, 100.0, 1.0, run / recipe.PAGE)

    monkeypatch.setattr(recipe, "demo", trained)
    monkeypatch.setattr(server, "serve_runs", lambda settings, runs: told.append((runs, settings.host, settings.port)))
    return told


def test_it_is_trained_once(done, tmp_path):
    for language in ("de", "de", "zh"):
        assert regard("demo", "--serve", "--run", tmp_path, "--language", language, "--port", 0).code == 0
    served = ([tmp_path / recipe.MODEL], "127.0.0.1", 0)
    assert done == ["de", served, served, "zh", served]


def test_without_serve_it_is_trained_each_time(done, tmp_path):
    for _ in range(2):
        assert regard("demo", "--run", tmp_path).code == 0
    assert done == ["de", "de"]


def test_a_port_that_is_taken_is_told_before_the_training(done, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert unsaid(regard("demo", "--serve", "--port", other.getsockname()[1], "--run", tmp_path), "--port: ") == []
    assert done == []
