"""regard calibrate: figures by hand, what the run keeps, and answers that are withheld."""

import json
import math

import numpy as np
import pytest
from classifiers import ROWS, tiny_classifier_in
from engines import tiny_run_in
from small_runs import SMALL, unsaid, write_texts
from small_runs import regard as call
from typer.testing import CliRunner

from regard import load
from regard.answers import ANSWERS, Answer
from regard.cli.app import app
from regard.explain.quality import QUALITY_FEATURES
from regard.reports import confidence
from regard.runs.measurements import CALIBRATION

SIDES = {"source": "a.en", "target": "a.de"}


@pytest.fixture(autouse=True)
def anything_is_kept(monkeypatch):
    """Tiny runs have few examples, and are often wrong."""
    monkeypatch.setattr(confidence, "FEWEST", 2)
    monkeypatch.setattr(confidence, "MOST_OFF", 100.0)


@pytest.fixture
def unanswered(monkeypatch):
    """Fails as soon as anything is answered."""
    monkeypatch.setattr(confidence, "answers_of", lambda *_: pytest.fail("answered"))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return tiny_classifier_in(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("translator"))


def run_of(command, run, *options, given=None):
    done = CliRunner().invoke(app, [command, str(run), *map(str, options)], input=given)
    assert done.exit_code == 0, done.output
    return done


def error_of(given, correct):
    """The expected calibration error, by the definition."""
    error = 0.0
    for place in range(15):
        held = [row for row, one in enumerate(given) if min(int(one * 15), 14) == place]
        error += abs(sum(given[row] - correct[row] for row in held))
    return 100 * error / len(given)


def test_a_classifier_without_a_test_part_is_judged_by_halves(classifier):
    raw = load(classifier, ["device=cpu"]).predict([text for _, text in ROWS])
    found = json.loads(run_of("calibrate", classifier, "--json").stdout)
    correct = [one.text == label for one, (label, _) in zip(raw, ROWS, strict=True)]
    (labels,) = found["errors"]
    assert (found["part"], labels["of"], labels["count"]) == ("dev", "labels", len(ROWS))
    assert labels["before"] == pytest.approx(error_of([one.confidence for one in raw], correct))
    assert labels["right"] == pytest.approx(np.mean(correct))
    assert found["abstention"][0]["fraction"] == 1.0
    assert found["abstention"][0]["value"] == pytest.approx(100 * np.mean(correct))


def test_what_was_fitted_is_used_by_predict(classifier):
    """The probability of each label to the power 1 / T, shared out anew; the labels stay."""
    (classifier / CALIBRATION).unlink(missing_ok=True)
    line = "a fine film\n"
    before = json.loads(run_of("predict", classifier, "--json", given=line).stdout)
    told = json.loads(run_of("calibrate", classifier, "--json").stdout)["calibration"]
    after = json.loads(run_of("predict", classifier, "--json", given=line).stdout)
    powers = {name: one ** (1 / told["settings"]["temperature"]) for name, one in before["probabilities"].items()}
    assert (before["calibrated"], after["calibrated"], after["text"]) == (False, True, before["text"])
    assert after["probabilities"] == pytest.approx({name: one / sum(powers.values()) for name, one in powers.items()})
    assert after["confidence"] == after["probabilities"][after["text"]] == pytest.approx(math.exp(after["score"]))


def test_pieces_words_and_sentences_of_a_translator(translator):
    found = json.loads(run_of("calibrate", translator, "--json", "--method", "platt", "--lines", 8).stdout)
    names = [one["of"] for one in found["errors"]]
    assert names[0] == "pieces" and names[-1] == "sentences"
    assert found["calibration"]["name"] == "platt"
    kept = load(translator, ["device=cpu"]).setup.calibration
    assert kept.items.values() == found["calibration"]["settings"]
    assert kept.answers.values() == found["answers"]["settings"]
    assert all(one["interval"][0] <= one["interval"][1] for one in found["errors"])


def test_quality_is_estimated_where_there_are_references(translator, classifier):
    files = [
        f"data.{part}.{side}={translator.parent / name}" for part in ("dev", "test") for side, name in SIDES.items()
    ]
    found = json.loads(run_of("calibrate", translator, "--json", "--quality", "--passes", 2, *files).stdout)
    names = {one["name"] for one in found["quality"]["estimates"]}
    assert names == {*QUALITY_FEATURES, "all together", "confidence"}
    assert all(-1 <= one["pearson"] <= 1 for one in found["quality"]["estimates"])
    without = json.loads(run_of("calibrate", translator, "--json", "--quality", "--passes", 0, *files).stdout)
    gone = names - {one["name"] for one in without["quality"]["estimates"]}
    assert gone == {"dropout_mean", "dropout_variance"}


def test_quality_that_cannot_be_estimated_is_told_before_anything_is_answered(translator, classifier, unanswered):
    for run in (translator, classifier):
        (run / CALIBRATION).unlink(missing_ok=True)
    assert unsaid(call("calibrate", translator, "--quality"), "data.test: there is no test set") == []
    assert unsaid(call("calibrate", classifier, "--quality"), "--quality: is for models that translate") == []
    files = [f"data.test.{side}={translator.parent / name}" for side, name in SIDES.items()]
    both = f"decoding.ensemble=[{translator}]"
    assert unsaid(call("calibrate", translator, "--quality", *files, both), "--quality: needs the probabilities") == []
    assert not any((run / CALIBRATION).exists() for run in (translator, classifier))


def test_answers_that_are_not_right_or_wrong_are_told_before_any(tmp_path, unanswered):
    (tmp_path / "a.txt").write_text("a dog runs\ntwo cats\nhe reads\n", encoding="utf-8")
    config, run = tmp_path / "config.yaml", tmp_path / "run"
    part = f"{{text: {tmp_path / 'a.txt'}}}"
    config.write_text(f"task: masked_language_model\ndata: {{train: {part}, dev: {part}}}\n", encoding="utf-8")
    small = [one for one in SMALL if not one.startswith("model.decoder")]
    assert call("train", config, "--run", run, "--quiet", *small).code == 0
    assert unsaid(call("calibrate", run), "'masked_language_model' have no items that are right or wrong") == []
    refusal = call("predict", run, "--abstain", "0.9", given="a dog runs\n")
    assert unsaid(refusal, "--abstain: ", "no items that are right or wrong") == []
    assert "regard calibrate" not in refusal.said


def test_a_run_that_is_an_ensemble_keeps_nothing(translator, tmp_path):
    """Predictions are of several models, and `predict` takes the calibration of one."""
    both = tmp_path / "both"
    trained = call(
        "train", *write_texts(tmp_path), "--run", both, "--quiet", *SMALL, f"decoding.ensemble=[{translator}]"
    )
    assert trained.code == 0, trained.said
    assert (
        "warning: the calibration is not saved: it is of an ensemble" in run_of("calibrate", both, "--lines", 2).stderr
    )
    assert not (both / CALIBRATION).exists()


def test_what_is_right_or_wrong_has_a_name():
    """Of each kind of answer that judges its items, and of no other."""
    judging = {name for name, row in ANSWERS.items() if type(row).correct_items is not Answer.correct_items}
    assert judging == {name for name, row in ANSWERS.items() if row.items}


def test_lines_that_are_not_sure_enough_have_no_answer(classifier):
    run_of("calibrate", classifier)
    lines = "a fine film\na film\na dull film\n"
    everything = run_of("predict", classifier, given=lines)
    assert run_of("predict", classifier, "--abstain", 0, given=lines).stdout == everything.stdout
    found = run_of("predict", classifier, "--abstain", 1, given=lines)
    assert all(one.startswith("[no answer: confidence 0.") for one in found.stdout.splitlines())
    assert "3 of 3 lines have no answer: their confidence is below 1" in found.stderr
    told = [
        json.loads(one)
        for one in run_of("predict", classifier, "--abstain", 1, "--json", given=lines).stdout.split("\n")[:-1]
    ]
    assert [(one["text"], one["abstained"]) for one in told] == [("", True)] * 3
    assert [one["withheld"] for one in told] == everything.stdout.splitlines()
    scored = run_of("predict", classifier, "--abstain", 1, "--scores", given=lines).stdout.splitlines()
    assert all(one.split("\t")[1].startswith("[no answer") for one in scored)


def test_tables_and_the_picture(classifier, tmp_path):
    pytest.importorskip("matplotlib")
    done = run_of("calibrate", classifier, "--plot", tmp_path / "sure.svg")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("| what | number | right | said before | said after |")
    assert any(line.startswith("| --abstain | answers kept | accuracy |") for line in lines)
    assert lines[-1].startswith("temperature (temperature ")
    assert (tmp_path / "sure.svg").read_text("utf-8").count("<svg") == 1


def test_changes_are_measured_and_not_kept(classifier):
    (classifier / CALIBRATION).unlink(missing_ok=True)
    run_of("calibrate", classifier, "device=cpu")
    assert not (classifier / CALIBRATION).exists()
    refusal = call("predict", classifier, "--abstain", "0.9", given="a fine film\n")
    assert unsaid(refusal, "--abstain: needs a calibrated confidence", f"regard calibrate {classifier}") == []


def test_calibration_on_other_data_is_kept(classifier, tmp_path):
    (classifier / CALIBRATION).unlink(missing_ok=True)
    lines = [f"{label}\t{text}" for label, text in (("good", "a fine film"), ("bad", "a dull film")) for _ in range(40)]
    (tmp_path / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_of("calibrate", classifier, f"data.dev={tmp_path / 'other.tsv'}")
    assert (classifier / CALIBRATION).exists()


def test_what_means_nothing_is_not_kept(classifier, monkeypatch):
    """Few examples, or probabilities that are far off: the calibration that was there stays."""
    run_of("calibrate", classifier)
    before = (classifier / CALIBRATION).read_text("utf-8")
    monkeypatch.setattr(confidence, "FEWEST", 3)
    told = run_of("calibrate", classifier, "--lines", 2, "--method", "platt").stderr
    assert "warning: the calibration is not saved: 2 dev examples are too few, 3 are needed" in told
    monkeypatch.setattr(confidence, "MOST_OFF", 0.0)
    told = run_of("calibrate", classifier, "--method", "platt").stderr
    assert "warning: the calibration is not saved: probabilities of labels are still " in told
    assert (classifier / CALIBRATION).read_text("utf-8") == before


def test_lines_that_need_no_model_are_not_withheld(translator):
    run_of("calibrate", translator)
    lines = "http://x.y\n12345\n😀\n汉语\nA man plays.\n"
    told = run_of("predict", translator, "--abstain", 1, given=lines).stdout.splitlines()
    assert told[:3] == ["http://x.y", "12345", "😀"]
    assert all(one.startswith("[no answer") for one in told[3:])


def test_an_unknown_row_is_told(classifier):
    assert unsaid(call("calibrate", classifier, "--method", "temprature"), "--method: ", "temperature") == []
    assert unsaid(call("calibrate", classifier, "--method", "isotonic"), "--method: there is no 'isotonic'") == []
