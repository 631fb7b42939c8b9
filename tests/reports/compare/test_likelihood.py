"""Language models side by side: figures that are those of `regard evaluate`, and differences that are sure or not."""

import json

import numpy as np
import pytest
from language import model_of, task_of
from small_runs import regard, unsaid

from regard.reports import evaluate_texts
from regard.reports.compare.likelihood import LIKELIHOODS, likelihoods
from regard.runs.validation import Validation

LINES = ["the man has a cat", "", "the dog sees a cow", "a", "", "the cow sees the man"]


@pytest.mark.parametrize("settings", [{}, {"window": 9}, {"window": 30, "context": 8}], ids=str)
@pytest.mark.parametrize("tokens", [1, 1000])
def test_sums_over_the_lines_are_the_figures_of_the_text(settings, tokens):
    task = task_of(LINES, **settings)
    model = model_of("recurrent", len(task.target))
    table = likelihoods(model, task, LINES, tokens)
    wanted = Validation(model, task, {"text": LINES}, [], batch_tokens=tokens)(lambda: False)
    assert table[:, 1].tolist() == [len(line) + 1 for line in LINES]
    for metric in LIKELIHOODS:
        assert metric.value(table.sum(axis=0)) == pytest.approx(wanted[metric.name.replace(" ", "_")])


def test_a_line_has_the_loss_of_its_pieces():
    task = task_of(LINES, window=1000)
    model = model_of("recurrent", len(task.target))
    (batch,) = task.held({"text": LINES}, 1000)
    losses, table, start = model.nll(batch)[0].tolist(), likelihoods(model, task, LINES, 1000), 0
    for line, row in zip(LINES, table, strict=True):
        end = start + len(line) + 1
        assert row[0] == pytest.approx(sum(losses[start:end]))
        start = end


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text").write_text("".join(f"{line}\n" for line in LINES * 3))
    for name, window in (("short", 8), ("long", 24)):
        (folder / f"{name}.yaml").write_text(
            f"task: {{name: language_model, window: {window}}}\n"
            f"data: {{text: {folder / 'text'}, dev_text: {folder / 'text'}, test_text: {folder / 'text'}}}\n"
            "text: {tokenizer: characters}\n"
            "model: {dim: 8, position: null, decoder: {name: recurrent, hidden_dim: 8}}\n"
            "training: {batch_tokens: 48, average: 1, workers: 0}\n"
        )
    return folder


def test_two_language_models_are_compared_line_by_line(configs):
    words = [configs / "short.yaml", configs / "long.yaml", "--seeds", 2, "--updates", 3, "--run", configs / "compare"]
    done = regard("compare", *words, "--quiet")
    assert done.code == 0, done.said
    told = json.loads((configs / "compare" / "compare.json").read_text())
    assert [metric["name"] for metric in told["metrics"]] == [metric.name for metric in LIKELIHOODS]
    assert told["sentences"] == len(LINES) * 3
    for system in told["systems"]:
        runs = [configs / "compare" / f"{system['name']}-seed{seed}" for seed in (1, 2)]
        found = evaluate_texts(runs)
        for name, score in system["scores"].items():
            wanted = [run.figures[name.replace(" ", "_")] for run in found.runs]
            assert score["values"] == pytest.approx(wanted, rel=1e-5)
            assert score["mean"] == pytest.approx(np.mean(wanted), rel=1e-5)
    assert told["systems"][1]["scores"]["perplexity"]["p_value"] is not None
    assert "perplexity" in (configs / "compare" / "report.html").read_text()


def test_a_translator_is_not_compared_with_a_language_model(configs, tmp_path):
    lines = (configs / "short.yaml").read_text().splitlines()[2:]
    files = ", ".join(f"{part}{side}: {configs / 'text'}" for part in ("", "test_") for side in ("source", "target"))
    (tmp_path / "other.yaml").write_text("\n".join([f"data: {{{files}}}", *lines[:1]]) + "\n")
    words = [configs / "short.yaml", tmp_path / "other.yaml", "--updates", 1, "--run", tmp_path / "compare"]
    assert unsaid(regard("compare", *words), "task", "no figure in common") == []
