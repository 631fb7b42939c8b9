"""regard evaluate --perturb: figures of changed texts beside the clean ones, and answers that change."""

import json

import pytest
from engines import tiny_run_in
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError
from regard.evaluation import METRICS, Interval, Score, paired_bootstrap
from regard.registry import Choice
from regard.reports.evaluation import Perturbed, perturbed, robustness
from regard.reports.evaluation_report import System
from regard.results import Prediction
from regard.tasks import TASKS, Outcome, TranslationTask

EXAMPLES = {
    "source": ["ein Hund läuft", "zwei Katzen schlafen dort", "er liest ein Buch"],
    "target": ["a dog runs over there", "two cats sleep over there", "he reads a book"],
}
CLEAN = ["a dog runs over there", "two cats sleep over here", "he reads a book"]
NOISY = ["a dog runs over there", "two cats eat over here", "he has a book"]


def system(answers):
    """A system with these answers, judged by the metrics themselves."""
    measures = TranslationTask.measures([Choice("bleu"), Choice("exact_match")])
    outcome = Outcome(EXAMPLES, lambda: [Prediction("", text, 0.0) for text in answers], lambda: 1 / 0)
    statistics = tuple(measure.statistics(outcome) for measure in measures)
    scores = tuple(
        Score(measure.name, measure.value(rows.sum(axis=0)), measure.signature(EXAMPLES), measure.higher_is_better)
        for measure, rows in zip(measures, statistics, strict=True)
    )
    return measures, System("run", scores, (Interval(0, 0),) * 2, statistics, answers=answers)


def test_figures_are_those_of_the_metrics():
    (measures, clean), (_, noisy) = system(CLEAN), system(NOISY)
    changed = Perturbed("drop:0.5", {**EXAMPLES, "source": ["ein läuft", *EXAMPLES["source"][1:]]})
    found = robustness(clean, noisy, EXAMPLES, changed, TranslationTask, measures)
    assert (found.texts, found.answers) == (1 / 3, 2 / 3)
    bleu = METRICS.build(Choice("bleu"))
    assert found.tests[0] == paired_bootstrap(bleu, CLEAN, NOISY, EXAMPLES["target"])
    assert found.agreement.value == bleu.score(NOISY, CLEAN).value
    assert [test.difference for test in found.tests][1] == pytest.approx(-100 / 3)
    assert "drop:0.5: 33.3% of texts and 66.7% of answers change; BLEU between both answers" in str(found)


def test_given_columns_change_and_wanted_answers_stay(tmp_path):
    (found,) = perturbed([Choice("case", {"probability": 1.0})], EXAMPLES, TranslationTask, [tmp_path])
    assert found.examples == {**EXAMPLES, "source": [text.upper() for text in EXAMPLES["source"]]}
    assert found.name == "case:1"
    both = {"first": ["one two"], "second": ["one two"], "label": ["yes"]}
    (found,) = perturbed([Choice("case", {"probability": 1.0})], both, TASKS["pairs"], [tmp_path])
    assert found.examples == {"first": ["ONE TWO"], "second": ["ONE TWO"], "label": ["yes"]}
    assert perturbed([], EXAMPLES, TranslationTask, [tmp_path / "file"]) == []


@pytest.mark.parametrize("task", ["language_model", "tagging"])
def test_a_task_that_reads_no_text_is_refused(tmp_path, task):
    with pytest.raises(ConfigError, match=r"--perturb: changes running text"):
        perturbed([Choice("drop")], EXAMPLES, TASKS[task], [tmp_path])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("robustness"))


def evaluate(*words):
    done = CliRunner().invoke(app, ["evaluate", *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def files(tmp_path):
    for column, texts in EXAMPLES.items():
        (tmp_path / column).write_text("".join(f"{text}\n" for text in texts))
    return ["--source", tmp_path / "source", "--target", tmp_path / "target"]


def test_a_run_is_evaluated_under_each_perturbation(run, files):
    done = evaluate(run, *files, "--perturb", "case:0", "--perturb", "synonym:1", "--json")
    assert done.exit_code == 0, done.stderr
    still, other = json.loads(done.stdout)["systems"][0]["robustness"]
    assert [still["perturbation"], other["perturbation"]] == ["case:0", "synonym:1"]
    assert (still["texts_changed"], still["answers_changed"]) == (0, 0)
    assert {score["difference"] for score in still["scores"]} == {0}
    assert still["agreement"]["name"] == "BLEU"


@pytest.mark.parametrize(
    ("spelled", "parts"),
    [
        ("tipo", ["there is no 'tipo'", "did you mean 'typo'?"]),
        ("typo:x", ["not a number", "typo:0.1"]),
        ("typo:2", ["probability", "at most 1, not 2"]),
    ],
)
def test_bad_names_and_shares_are_told_in_a_line(run, files, spelled, parts):
    done = evaluate(run, *files, "--perturb", spelled)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert all(part in done.stderr for part in ["--perturb", *parts])


def test_files_of_answers_cannot_change(run, tmp_path):
    (tmp_path / "answers").write_text("a\n")
    done = evaluate(tmp_path / "answers", "--target", tmp_path / "answers", "--perturb", "typo")
    assert done.exit_code == 2
    assert "is a file, whose answers cannot change" in done.stderr
