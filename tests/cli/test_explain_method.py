"""regard explain --method: methods by their names, their settings, and what is told of unknown ones."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_runs import regard as call
from small_runs import unsaid
from typer.testing import CliRunner

from regard import predictor
from regard.cli.app import app
from regard.predictor.explainer import Explainer
from regard.results import Explanation, Prediction


class Weigher:
    """Tells what it was asked for."""

    run = SimpleNamespace(path=Path("run"))
    with_reasons = Explainer.with_reasons

    @property
    def explainer(self):
        return self

    def predict(self, texts, explain, **context):
        assert not explain
        return [Prediction(text, "rot", -1.0) for text in texts]

    def with_relevance(self, predictions, method, progress=None):
        named = f"{method.name} {dict(method.settings)}"
        found = Explanation.of_text(["red"], ["rot"], [(0, 0)], [[-1.0]], method=named)
        return [Prediction(one.source, one.text, one.score, explanation=found) for one in predictions]


pytestmark = pytest.mark.usefixtures("run_folder")


@pytest.fixture(autouse=True)
def _loads(monkeypatch):
    monkeypatch.setattr(predictor, "load", lambda run, changes: Weigher(), raising=False)


def method_of(*words):
    done = CliRunner().invoke(app, ["explain", "run", "red", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["predictions"][0]["explanation"]["method"]


def test_a_method_has_its_settings_beside_it():
    assert method_of("--method", "integrated_gradients", "method.steps=8") == "integrated_gradients {'steps': 8}"
    assert method_of("--method", "ig") == "integrated_gradients {}"


def test_further_methods_stand_beside_the_first():
    done = CliRunner().invoke(
        app, ["explain", "run", "red", "--method", "lrp", "--method", "saliency", "--method", "ig", "--json"]
    )
    found = json.loads(done.stdout)["predictions"][0]["explanation"]
    assert (found["method"], list(found["reasons"])) == ("lrp {}", ["saliency", "integrated_gradients"])


def test_settings_are_of_one_method():
    done = call("explain", "run", "red", "--method", "lrp", "--method", "ig", "method.steps=8")
    assert unsaid(done, "method.steps: is a setting of one method") == []


def test_an_unknown_method_is_told_with_those_there_are():
    done = call("explain", "run", "red", "--method", "nonsense")
    assert unsaid(done, "method: there is no method 'nonsense'", "integrated_gradients", "occlusion") == []
    assert unsaid(call("explain", "run", "red", "--method", "saliencey"), "did you mean 'saliency'") == []


def test_a_setting_without_a_method_is_told():
    done = call("explain", "run", "red", "method.steps=8")
    assert unsaid(done, "method.steps: is a setting of one method", "--method") == []


def test_steps_are_of_an_answer_and_not_of_a_layer():
    done = call("explain", "run", "red", "--method", "lrp", "--of", "encoder", "--steps")
    assert unsaid(done, "--steps: shows the search for an answer, and --of has no search") == []


def test_grades_are_of_a_run_and_not_of_a_text():
    assert unsaid(call("explain", "run", "red", "--grade"), "--grade: is measured on the dev set of the run") == []
