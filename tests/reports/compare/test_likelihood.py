"""Language models side by side: figures that are those of `regard evaluate`, and differences that are sure or not."""

import json
import unicodedata

import numpy as np
import pytest
from comparisons import Inside
from language import model_of, task_of
from small_runs import regard, unsaid
from tasks import engine_of

from regard.reports.compare import train
from regard.reports.compare.statistics import figures
from regard.reports.evaluation import evaluate
from regard.runs.validation import Validation
from regard.tasks.language_model import LanguageModelTask
from regard.tasks.task import outcome_of

LINES = ["the man has a cat", "", "the dog sees a cow", "a", "", "the cow sees the man"]
DECOMPOSED = ["cafe\u0301 e\u0301te\u0301", "", "a", "bad \ud800 sign", "the man"]  # NFD, and a lone surrogate
LIKELIHOODS = LanguageModelTask.measures([])
BITS, PERPLEXITY, BY_WORD = LIKELIHOODS


def tables_of(model, task, lines, tokens=1000):
    """Of each measure: nats and counts line by line."""
    outcome = outcome_of(task, model, engine_of(model, task), {"text": lines}, tokens)
    return [measure.statistics(outcome) for measure in LIKELIHOODS]


@pytest.mark.parametrize("lines", [LINES, DECOMPOSED], ids=["ascii", "decomposed"])
@pytest.mark.parametrize("settings", [{}, {"window": 9}, {"window": 30, "context": 8}], ids=str)
@pytest.mark.parametrize("tokens", [1, 1000])
def test_sums_over_the_lines_are_the_figures_of_the_text(settings, tokens, lines):
    task = task_of(lines, **settings)
    model = model_of("recurrent", len(task.text))
    tables, engine = tables_of(model, task, lines, tokens), engine_of(model, task)
    wanted = Validation(model, task, engine, {"text": lines}, LIKELIHOODS, batch_tokens=tokens)(lambda: False)
    assert tables[1][:, 1].tolist() == [len(task.text.encode(line)) + 1 for line in lines]
    batches = task.held({"text": lines}, tokens)
    total = sum(float(model.nll(batch).detach().double().sum()) for batch in batches)
    assert [table[:, 0].sum() for table in tables] == pytest.approx([total] * 3)
    assert wanted["perplexity"] == pytest.approx(np.exp(total / tables[1][:, 1].sum()))
    assert wanted["bits_per_character"] == pytest.approx(total / np.log(2) / tables[0][:, 1].sum())
    assert wanted["word_perplexity"] == pytest.approx(np.exp(total / tables[2][:, 1].sum()))


def test_a_letter_with_its_accent_is_one_character_however_it_is_spelt():
    task = task_of(DECOMPOSED)
    model = model_of("recurrent", len(task.text))
    composed = [unicodedata.normalize("NFC", line) for line in DECOMPOSED]
    assert len(composed[0]) == len(DECOMPOSED[0]) - 3
    tables = [tables_of(model, task, lines) for lines in (DECOMPOSED, composed)]
    assert all(np.array_equal(*pair) for pair in zip(*tables, strict=True))
    assert tables[0][0][:, 1].tolist() == [len(line) + 1 for line in composed]


def test_what_pieces_do_to_a_perplexity_is_no_difference_of_models():
    """Two models that find the text equally likely; one spells it in characters, the other in words."""
    nats, characters, words = (np.array(column * 20) for column in ([12.0, 7.0], [10.0, 6.0], [3.0, 2.0]))

    def tables(metric):
        first = {"bits per character": characters, "perplexity": characters, "word perplexity": words}[metric.name]
        pieces = words if metric is PERPLEXITY else first  # of the second model
        counts = {"characters": (nats, first), "words": (nats, pieces), "again": (nats + 1, first)}
        return {name: [np.stack(both, axis=1)] for name, both in counts.items()}

    found = {metric.name: figures(metric, tables(metric), "characters") for metric in LIKELIHOODS}
    assert next(iter(found)) == "bits per character"
    assert found["perplexity"]["words"].mean > 10 * found["perplexity"]["characters"].mean
    assert found["perplexity"]["words"].difference is None
    assert found["perplexity"]["again"].difference.p_value < 0.01  # the same pieces
    assert found["bits per character"]["words"].difference[:3] == (0.0, (0.0, 0.0), 1.0)
    assert found["word perplexity"]["words"].difference.p_value == 1.0


def test_a_line_has_the_loss_of_its_pieces():
    task = task_of(LINES, window=1000)
    model = model_of("recurrent", len(task.text))
    (batch,) = task.held({"text": LINES}, 1000)
    losses, table, start = model.nll(batch)[0].tolist(), tables_of(model, task, LINES)[0], 0
    for line, row in zip(LINES, table, strict=True):
        end = start + len(line) + 1
        assert row[0] == pytest.approx(sum(losses[start:end]))
        start = end


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text").write_text("".join(f"{line}\n" for line in LINES * 3))
    files = f"{{text: {folder / 'text'}}}"
    for name, window in (("short", 8), ("long", 24)):
        (folder / f"{name}.yaml").write_text(
            f"task: {{name: language_model, window: {window}}}\n"
            f"data: {{train: {files}, dev: {files}, test: {files}}}\n"
            "text: {tokenizer: characters}\n"
            "model: {dim: 8, position: null, decoder: {name: recurrent, hidden_dim: 8}}\n"
            "training: {batch_tokens: 48, average: 1, workers: 0}\n"
        )
    return folder


def test_two_language_models_are_compared_line_by_line(configs, monkeypatch):
    monkeypatch.setattr(train, "Child", Inside)
    words = [configs / "short.yaml", configs / "long.yaml", "--seeds", 2, "--updates", 3, "--run", configs / "compare"]
    done = regard("compare", *words, "--quiet")
    assert done.code == 0, done.said
    told = json.loads((configs / "compare" / "compare.json").read_text())
    assert [metric["name"] for metric in told["metrics"]] == [metric.name for metric in LIKELIHOODS]
    assert told["sentences"] == len(LINES) * 3
    for system in told["systems"]:
        runs = [configs / "compare" / f"{system['name']}-seed{seed}" for seed in (1, 2)]
        found = evaluate(runs)
        for place, score in enumerate(system["scores"].values()):
            wanted = [run.scores[place].value for run in found.systems]
            assert score["values"] == pytest.approx(wanted, rel=1e-5)
            assert score["mean"] == pytest.approx(np.mean(wanted), rel=1e-5)
    assert told["metrics"][0]["name"] == "bits per character"
    assert told["systems"][1]["scores"]["perplexity"]["p_value"] is not None
    assert [bucket["words"] for bucket in told["by_length"]] == ["0-5"]


def test_a_report_of_language_models_speaks_of_lines_and_of_pieces(configs, monkeypatch):
    monkeypatch.setattr(train, "Child", Inside)
    lines = (configs / "short.yaml").read_text()
    (configs / "words.yaml").write_text(lines.replace("tokenizer: characters", "tokenizer: words"))
    folder = configs / "pieces"
    words = [configs / "short.yaml", configs / "words.yaml", "--seeds", 1, "--updates", 1, "--run", folder]
    done = regard("compare", *words, "--quiet", "--markdown", folder.with_suffix(".md"))
    assert done.code == 0, done.said
    text = folder.with_suffix(".md").read_text()
    assert "18 lines of the test set; one training of each system." in text
    assert "- perplexity: no difference is given for a system with another tokenizer than short:" in text
    assert "## bits per character by words of the line (lines)" in text
    assert "| read lines/core s |" in text
    assert "source" not in text
    assert "decode" not in text
    scores = json.loads((folder / "compare.json").read_text())["systems"][1]["scores"]
    assert scores["perplexity"]["p_value"] is None
    assert scores["bits per character"]["p_value"] is not None
    assert "decode" not in (folder / "report.html").read_text().partition("What differs")[0]


def test_a_translator_is_not_compared_with_a_language_model(configs, tmp_path):
    lines = (configs / "short.yaml").read_text().splitlines()[2:]
    both = f"{{source: {configs / 'text'}, target: {configs / 'text'}}}"
    files = f"train: {both}, test: {both}"
    (tmp_path / "other.yaml").write_text("\n".join([f"data: {{{files}}}", *lines[:1]]) + "\n")
    words = [configs / "short.yaml", tmp_path / "other.yaml", "--updates", 1, "--run", tmp_path / "compare"]
    assert unsaid(regard("compare", *words), "task", "no figure in common") == []
