"""regard heads: every head of any model, figures that do not depend on the batch, and one line where there are none."""

import json
import math

import pytest
from classifiers import tiny_classifier_in
from engines import tiny_run_in
from small_runs import regard as call
from small_runs import unsaid, write_texts
from torch.testing import assert_close
from typer.testing import CliRunner

from regard import load
from regard.cli.app import app
from regard.explain.heads import PATTERNS, heads_in
from regard.reports.heads import gates_without, losses, mean_slopes
from regard.runs import Run
from regard.runs.texts import dev_examples

EXAMPLES = {"source": ["a dog runs", "two cats", "he reads"], "target": ["ein Hund läuft", "zwei Katzen", "er liest"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("run"))


def told(run, *options):
    done = CliRunner().invoke(app, ["heads", str(run), "device=cpu", "--lines", "3", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def found(run):
    return json.loads(told(run, "--json", "--prune"))


def test_every_head_is_told_with_its_figures(run, found):
    count = sum(heads.num_heads for _, heads in heads_in(load(run, ["device=cpu"]).model).values())
    assert len(found["heads"]) == count > 0
    assert {one["attention"] for one in found["heads"]} == {"source → source", "target → source", "target → target"}
    assert all(set(one["shares"]) == {*PATTERNS} for one in found["heads"])
    assert all(one["interval"][0] <= one["ablation"] <= one["interval"][1] for one in found["heads"])


def test_an_ablation_is_the_difference_of_two_losses(run, found):
    predictor = load(run, ["device=cpu"])
    dev = dev_examples(Run.open(run).experiment, predictor.task, print)
    examples, one = {name: values[: found["examples"]] for name, values in dev.items()}, found["heads"][-1]
    whole = losses(predictor, examples, {})
    without = losses(predictor, examples, gates_without([(one["module"], one["head"] - 1)], predictor))
    assert whole[:, 0].sum() / whole[:, 1].sum() == pytest.approx(found["loss"])
    assert (without - whole)[:, 0].sum() / whole[:, 1].sum() == pytest.approx(one["ablation"])


def test_figures_do_not_depend_on_the_batch(run):
    whole, single = load(run, ["device=cpu"]), load(run, ["device=cpu", "decoding.batch_tokens=1"])
    one = {name: values[1:2] for name, values in EXAMPLES.items()}
    slopes, alone = mean_slopes(whole, EXAMPLES), mean_slopes(whole, one)
    assert all(bool((3 * slopes[name] + 1e-9 >= alone[name]).all()) for name in slopes)
    gates = {name: slope * 0 for name, slope in [*slopes.items()][:1]}
    assert_close(losses(whole, EXAMPLES, gates), losses(single, EXAMPLES, gates), rtol=1e-5, atol=1e-5)


def test_pruning_is_told_beside_a_random_order(found):
    steps = {(one["order"], one["heads"]): one for one in found["pruning"]}
    assert steps["", 0]["loss"] == pytest.approx(found["loss"])
    counts = sorted(count for order, count in steps if order == "importance")
    assert counts == sorted(count for order, count in steps if order == "random")
    least = min(found["heads"], key=lambda one: one["ablation"])
    assert steps["importance", 1]["loss"] == pytest.approx(found["loss"] + least["ablation"])


def test_tables_and_the_picture(run, found, tmp_path):
    """Made anew, they have the same figures: what is drawn is drawn by a seed."""
    pytest.importorskip("matplotlib")
    lines = told(run, "--prune", "--plot", str(tmp_path / "heads.svg")).splitlines()
    assert lines[0] == f"| head | {' | '.join(PATTERNS)} | weight | ablation | gradient | pattern |"
    assert "| heads out | BLEU, by importance | loss, by importance | BLEU, at random | loss, at random |" in lines
    last = [one["loss"] for one in found["pruning"] if one["heads"] == found["pruning"][-1]["heads"]]
    assert [cell.strip() for cell in lines[-3].split("|")[3::2]][:2] == [f"{loss:.3f}" for loss in last]
    assert lines[-1].startswith("of ") and "heads" in lines[-1]
    assert (tmp_path / "heads.svg").read_text("utf-8").count("<svg") == 1


def test_heads_of_a_classifier(tmp_path):
    found = json.loads(told(tiny_classifier_in(tmp_path), "--json"))
    assert {one["attention"] for one in found["heads"]} == {"text → text"}
    assert found["measure"] == "accuracy"
    assert all(math.isfinite(one["gradient"]) for one in found["heads"])


def test_a_model_without_heads_is_told(tmp_path):
    parts = ["model.encoder=recurrent", "model.decoder=recurrent", "model.attention={score: additive, num_heads: 1}"]
    settings = [*parts, "model.dim=8", "text.tokenizer.size=300", "training.max_updates=1"]
    done = call("train", *write_texts(tmp_path), "--run", tmp_path / "run", "--quiet", *settings)
    assert done.code == 0, done.said
    assert unsaid(call("heads", tmp_path / "run", "device=cpu"), "no attention of this model has heads") == []
