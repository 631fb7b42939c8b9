"""Several labels a text: probabilities and losses by hand, and a run that is trained, tuned and explained."""

import json
import math

import pytest
import torch
from small_runs import figures_of, trained_in
from small_runs import regard as command

import regard
from regard.answers.labels import LabelsAnswer, LabelsPrediction
from regard.data.columns import learn_columns
from regard.data.columns.label_set import LabelSetColumn
from regard.data.examples import Example
from regard.data.readers import READERS
from regard.errors import ConfigError, DataError
from regard.models import MODELS
from regard.objectives import OBJECTIVES, Context
from regard.recipes.tuning import tune_threshold
from regard.registry import Choice
from regard.runs import Run
from regard.tasks import TASKS

ROWS = [("a dog runs", "animal, motion"), ("a stone", "-"), ("he runs fast", "motion"), ("one dog", "animal")]
MODEL_ROWS = ("classifier", "hierarchical", "causal_classifier")


def built(name="classifier"):
    rows = [Example(line, {"text": text, "labels": labels}) for line, (text, labels) in enumerate(ROWS, start=1)]
    columns = learn_columns({"text": "text", "labels": "label_set"}, [rows], Choice("words"), shared=False)
    torch.manual_seed(3)
    model = MODELS.build(Choice(name, {"dim": 8}), columns).double().eval()
    return model, TASKS.build(Choice("multi_label"), columns)


def examples():
    return [{"text": text, "labels": labels} for text, labels in ROWS]


@pytest.mark.parametrize("name", MODEL_ROWS)
def test_each_label_is_a_yes_or_no_of_its_own(name):
    model, task = built(name)
    batch = task.batch(task.encode(examples()))
    assert batch.columns["labels"].tolist() == [[1, 1], [0, 0], [0, 1], [1, 0]]  # animal, motion
    found, losses = task.predict(model, batch), model.nll(batch, smoothing=0.1)
    for row, one in enumerate(found):
        chances = [one.probabilities[label] for label in ("animal", "motion")]
        assert {*one.labels} == {label for label, chance in one.probabilities.items() if chance > 0.5}
        sure = [max(chance, 1 - chance) for chance in chances]
        assert one.item_probabilities() == pytest.approx(sure)
        assert one.score == pytest.approx(sum(map(math.log, sure)))
        for label, chance in enumerate(chances):
            wanted = 0.9 * batch.columns["labels"][row, label].item() + 0.05
            by_hand = -wanted * math.log(chance) - (1 - wanted) * math.log(1 - chance)
            assert losses[row, label].item() == pytest.approx(by_hand)
    assert model.counted(batch).shape == losses.shape


def test_a_threshold_decides_again():
    chances = {"a": 0.9, "b": 0.4, "c": 0.2}
    one = LabelsPrediction("x", "a", 0.0, probabilities=chances)
    row = LabelsAnswer()
    assert [row.threshold.decided(one, limit).text for limit in (0.95, 0.5, 0.3, 0.1)] == ["-", "a", "a, b", "a, b, c"]
    assert row.threshold.decided(one, 0.3).score == pytest.approx(math.log(0.9 * 0.4 * 0.8))
    assert row.correct_items(one, "a, b", None) == [True, False, True]


def test_a_calibration_is_of_having_a_label_whatever_decides():
    one = LabelsPrediction("x", "a", 0.0, probabilities={"b": 0.4, "a": 0.9, "c": 0.2})
    row = LabelsAnswer()
    for limit, sure in ((0.5, [0.8, 0.7, 0.9]), (0.3, [0.8, 0.3, 0.9])):
        answer = row.threshold.decided(one, limit)
        assert row.choices(answer) == [pytest.approx([chance, 1 - chance]) for chance in (0.9, 0.4, 0.2)]
        assert row.right_choices(answer, "b, c", None) == [1, 0, 0]
        mended = row.recalibrated(answer, [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
        assert mended.probabilities == {"a": 0.8, "b": 0.3, "c": 0.1}
        assert mended.confidences == pytest.approx(sure)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a|b", "a"], "'a|b' is read as one label: commas .*task=classification"),
        (["a, b", "a;b", "b"], "'a;b' is read as one label: commas separate"),
        (["a", "b", "a"], "no text has several labels: commas .*task=classification"),
    ],
)
def test_labels_without_commas_are_a_warning(values, message):
    with pytest.warns(UserWarning, match=message):
        LabelSetColumn.learn(values, Choice("words"))


def test_an_unknown_label_is_named():
    column = LabelSetColumn(["animal", "motion"])
    assert column.decode(column.encode("motion,animal")) == "animal, motion"
    with pytest.raises(DataError, match=r"there is no 'motoin' \(did you mean 'motion'"):
        column.encode("animal, motoin")
    with pytest.raises(DataError, match="there is none"):
        LabelSetColumn.learn(["-", ""], Choice("words"))


def test_objectives_of_one_label_are_refused():
    model, task = built()
    with pytest.raises(ConfigError, match="chooses one class"):
        OBJECTIVES.build(Choice("class_weighted"), Context(model, task))
    with pytest.raises(ConfigError, match="probabilities of all choices"):
        model.distributions(task.batch(task.encode(examples())))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Texts of two words: a label for each word that is not `x`."""
    folder = tmp_path_factory.mktemp("labels")
    names = {"dog": "animal", "runs": "motion", "red": "colour"}
    pairs = [(one, other) for one in (*names, "x") for other in (*names, "x")] * 5
    rows = [(", ".join(dict.fromkeys(names[word] for word in pair if word in names)) or "-", pair) for pair in pairs]
    (folder / "a.tsv").write_text("".join(f"{labels}\t{' '.join(pair)}\n" for labels, pair in rows))
    part = f"{{name: tsv, file: {folder / 'a.tsv'}, fields: {{labels: 1, text: 2}}}}"
    return trained_in(
        folder,
        f"task: multi_label\ndata: {{train: {part}, dev: {part}, test: {part}}}\n"
        "model: {dim: 8, dropout: 0.0, encoder: embeddings, pooling: attention}\n"
        "training: {batch_sentences: 40, learning_rate: 0.05, max_updates: 60, validate_every: 30, average: 1}\n",
    )


def test_a_run_is_evaluated_and_predicts(run):
    assert [*figures_of(run / "run").values()] == pytest.approx([100, 100, 100, 0])
    done = command("predict", run / "run", "red dog", "x x", "--json")
    first, second = map(json.loads, done.printed.splitlines())
    assert ({*first["labels"]}, second["labels"], second["text"]) == ({"animal", "colour"}, [], "-")
    assert {*first["probabilities"]} == {"animal", "colour", "motion"}
    low = command("predict", run / "run", "x x", "decoding.threshold=0").printed
    assert len(low.split(",")) == 3


def test_the_tuned_threshold_is_the_best_of_a_loop(run):
    """Texts that also have the labels which the model thinks likeliest of those that they have not."""
    words = ("dog", "runs", "red", "x")
    texts = [f"{one} {other}" for one in words for other in words]
    found = regard.load(run / "run", ["decoding.threshold=0.5"]).predict(texts)
    chances = {(row, name): chance for row, one in enumerate(found) for name, chance in one.probabilities.items()}
    missed = sorted((chance, pair) for pair, chance in chances.items() if chance <= 0.5)[-3:]
    wanted = {pair for pair, chance in chances.items() if chance > 0.5} | {pair for _, pair in missed}
    rows = [", ".join(name for place, name in wanted if place == row) or "-" for row in range(len(texts))]
    lines = [f"{labels}\t{text}\n" for labels, text in zip(rows, texts, strict=True)]
    (run / "other.tsv").write_text("".join(lines), encoding="utf-8")

    def f1(limit):
        given = {pair for pair, chance in chances.items() if chance > limit}
        return 200 * len(given & wanted) / (len(given) + len(wanted))

    tuned = tune_threshold(run / "run", [f"data.dev.file={run / 'other.tsv'}", "evaluation.metrics=labels_f1"])
    assert tuned.before == pytest.approx(f1(0.5))
    assert tuned.after == pytest.approx(max(map(f1, [0, *chances.values()]))) != pytest.approx(tuned.before)
    assert f1(tuned.threshold) == pytest.approx(tuned.after)


def test_a_run_is_tuned_calibrated_and_explained(run):
    Run.open(run / "run").measurements.keep("threshold.json", {"threshold": 0.4})  # of an earlier tuning
    tuned = command("tune", run / "run")
    assert (tuned.code, "stays" in tuned.printed) == (0, True)  # all answers are right at the usual one
    assert not (run / "run" / "threshold.json").exists() and regard.load(run / "run").setup.threshold is None
    assert command("calibrate", run / "run").code == 0
    predictor = regard.load(run / "run")
    (found,) = predictor.predict(["red x"], explain=True)
    assert found.labels == ["colour"]
    weights = dict(
        zip((one.strip(" ▁") for one in found.explanation.source_tokens), found.explanation.weights[0], strict=False)
    )
    assert weights["red"] > 0.2
    (relevance,) = predictor.explain(["red x"], method="gradient_times_input")
    assert sorted(relevance.items) == ["colour", "not animal", "not motion"]


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_a_line_with_an_unknown_label_is_named(run):
    (run / "bad.tsv").write_text("animal\tdog\nanimal, motoin\tdog runs\n")
    done = command("train", run / "config.yaml", f"data.dev.file={run / 'bad.tsv'}", f"run={run / 'x'}", "device=cpu")
    assert "there is no 'motoin'" in done.said


def test_arrays_of_json_lines_are_labels(tmp_path):
    def read(*values):
        lines = [json.dumps({"text": "a", "labels": value}) for value in values]
        (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        reader = READERS.build(Choice("jsonl", {"file": str(tmp_path / "a.jsonl")}), ("text", "labels"))
        return [one.texts["labels"] for one in reader]

    assert read(["animal", "motion"], [], "motion") == ["animal, motion", "-", "motion"]
    with pytest.raises(DataError, match=r"a.jsonl:2.*comma"):
        read(["b"], ["a, b"])
    with pytest.raises(DataError, match="array of strings, and has a number"):
        read([1.5])
    assert read(["-"]) == ["-"]
    for values in (["a", "-"], ["a", " "], [""]):
        with pytest.raises(DataError, match=r"a.jsonl:2: .*cannot be a label"):
            read(["b"], values)
