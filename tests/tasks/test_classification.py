"""Classification: figures by hand, every label with its probability, and what the pooling looked at."""

import json
import math

import pytest
import torch
from classifiers import tiny_classifier_in
from comparisons import Inside
from small_runs import regard as command
from torch.testing import assert_close

import regard
from regard.answers.label import LabelAnswer, LabelPrediction
from regard.attention import recording
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.compare import train
from regard.reports.evaluation import evaluate
from regard.tasks.classification import ClassificationTask

TEXTS = ["a good film", "a bad film", "so good", "so bad", "good", "bad and long and bad"]
LABELS = ["pos", "neg"] * 3
PAIRS = list(zip(TEXTS, LABELS, strict=True))
EXAMPLES = {"text": TEXTS, "label": LABELS}
SMALL = {"dim": 8, "encoder": Choice("recurrent", {"hidden_dim": 8}), "position": None, "dropout": 0.0}


@pytest.fixture
def parts():
    rows = [Example(line, {"text": text, "label": label}) for line, (text, label) in enumerate(PAIRS, 1)]
    columns = learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True)
    torch.manual_seed(3)
    return MODELS.build(Choice("classifier", SMALL), columns).double().eval(), ClassificationTask(columns)


def test_losses_are_those_of_torch(parts):
    model, task = parts
    (batch,) = task.held(EXAMPLES, 1000)
    labels = batch.columns["label"]
    wanted = torch.nn.functional.cross_entropy(model.log_probs(batch), labels, reduction="none", label_smoothing=0.2)
    assert_close(model.nll(batch, smoothing=0.2).squeeze(-1), wanted)
    assert batch.count == int(model.counted(batch).sum()) == len(TEXTS)


def test_padding_cannot_change_an_answer(parts):
    model, task = parts
    together = torch.cat([model.log_probs(batch)[batch.lines.argsort()] for batch in task.held(EXAMPLES, 1000)])
    alone = torch.cat([model.log_probs(task.batch(task.encode([{"text": text}]))) for text in TEXTS])
    assert_close(together, alone)


def test_every_label_has_its_probability(parts):
    model, task = parts
    (batch,) = task.held(EXAMPLES, 1000)
    wanted = model.log_probs(batch).exp().detach()
    for row, found in enumerate(task.predict(model, batch)):
        assert found.probabilities == pytest.approx({"neg": float(wanted[row, 0]), "pos": float(wanted[row, 1])})
        assert found.text == max(found.probabilities, key=found.probabilities.get)
        assert found.score == pytest.approx(math.log(found.probabilities[found.text]))


def test_an_explanation_shows_the_weights_of_the_pooling(parts):
    model, task = parts
    (batch,) = task.held(EXAMPLES, 1000)
    for ids, found in zip(batch.sequences("text").mask, task.explain(model, batch), strict=True):
        assert len(found.source_tokens) == len(found.weights[0]) == int(ids.sum())
        assert sum(found.weights[0]) == pytest.approx(1.0, abs=1e-3)  # each is rounded


def test_every_question_of_a_pooling_is_explained(parts):
    """The weights softmax(W2 tanh(W1 Hᵀ)) of all hops, and their mean for the label."""
    _, task = parts
    hops = Choice("structured", {"hops": 3, "hidden_dim": 4})
    torch.manual_seed(3)
    model = MODELS.build(Choice("classifier", {**SMALL, "encoder": "embeddings", "pooling": hops}), task.vocabularies)
    model.double().requires_grad_(False).eval()
    batch = task.batch(task.encode([{"text": "a bad film", "label": "neg"}]))
    states = model.embedder(batch.sequences("text").items)[0][0]
    pooling = model.pooling
    wanted = (pooling.queries @ torch.tanh(states @ pooling.to_hidden.weight.T).T).softmax(dim=-1)  # (hop, piece)
    (found,) = task.explain(model, batch)
    assert_close(torch.tensor(found.maps[0].weights).double(), wanted.unsqueeze(0), rtol=0, atol=1e-4)
    assert found.weights[0] == pytest.approx(wanted.mean(dim=0).tolist(), abs=1e-4)


def test_a_pooling_of_one_state_is_explained_by_what_this_state_saw(parts):
    """<s> in the last of two layers, the mean of its heads."""
    _, known = parts
    task = ClassificationTask(known.vocabularies, prepend_bos=True)
    torch.manual_seed(3)
    block = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    settings = {"dim": 8, "encoder": block, "pooling": "first", "dropout": 0.0}
    model = MODELS.build(Choice("classifier", settings), task.vocabularies).double().requires_grad_(False).eval()
    batch = task.batch(task.encode([{"text": text, "label": "neg"} for text in ("a bad film", "bad")]))
    with recording(model) as records:
        model.log_probs(batch)
    *_, last = (one.answers[0].weights for one in records.values())
    for row, found in enumerate(task.explain(model, batch)):
        assert found.source_tokens[0] == "<s>"
        wanted = last[row, :, 0, : len(found.source_tokens)].mean(dim=0).tolist()
        assert found.weights[0] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("encoder", "left"),
    [
        (Choice("bytenet", {"ratio": 2.0, "hidden_dim": 4, "dilations": [1], "num_layers": 1}), 0),
        (Choice("bytenet", {"ratio": 1.0, "hidden_dim": 4, "dilations": [1], "num_layers": 1}), 1),
    ],
    ids=["two states a word", "one"],
)
def test_weights_of_states_that_are_no_words_are_not_shown(parts, encoder, left):
    _, task = parts
    torch.manual_seed(3)
    model = MODELS.build(Choice("classifier", {**SMALL, "encoder": encoder}), task.vocabularies).eval()
    (batch,) = task.held(EXAMPLES, 1000)
    for found in task.explain(model, batch):
        assert (len(found.maps), len(found.weights)) == (left, 2 * left)
        assert all(sum(one.weights[0][0]) == pytest.approx(1.0, abs=1e-3) for one in found.maps)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    rows = "".join(f"{label}\t{text} of number {number}\n" for number in range(20) for text, label in PAIRS)
    for part in ("train", "dev", "test"):
        (folder / f"{part}.tsv").write_text(rows)
    reader = "{{name: tsv, file: {}, fields: {{label: 1, text: 2}}}}"
    data = ", ".join(f"{part}: {reader.format(folder / f'{part}.tsv')}" for part in ("train", "dev", "test"))
    for name, pooling in (("attention", "attention"), ("mean", "mean")):
        (folder / f"{name}.yaml").write_text(
            f"task: classification\ndata: {{{data}}}\ntext: {{tokenizer: words}}\n"
            "model: {dim: 8, position: null, encoder: {name: recurrent, hidden_dim: 8},"
            f" pooling: {pooling}}}\n"
            "training: {max_updates: 120, batch_tokens: 200, learning_rate: 0.02, validate_every: 20, workers: 0}\n"
        )
    assert command("train", folder / "attention.yaml", "--run", folder / "run", "--quiet").code == 0
    return folder


def test_it_learns_from_a_file_of_labels(folder):
    evaluation = evaluate([folder / "run", folder / "run"])
    accuracy, f1 = evaluation.systems[0].scores
    assert (accuracy.name, f1.name, evaluation.comparisons[0][1].p_value) == ("accuracy", "f1", 1.0)
    assert min(accuracy.value, f1.value) > 95  # the word good or bad decides


def test_predictions_are_json_with_probabilities(folder):
    found = regard.load(folder / "run").predict(["so good of number 3"], explain=True)[0]
    assert (found.text, found.details()["probabilities"]["pos"] > 0.5) == ("pos", True)
    assert len(found.explanation.weights[0]) == len(found.explanation.source_tokens)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return tiny_classifier_in(tmp_path_factory.mktemp("three"))


@pytest.mark.parametrize("count", [2, 3])
def test_the_most_probable_labels_are_ranked(three, count):
    text = "a fine and dull film"
    (whole,) = regard.load(three).predict([text])
    (found,) = regard.load(three, [f"decoding.search.n_best={count}"]).predict([text])
    best = sorted(whole.probabilities.items(), key=lambda one: -one[1])[:count]
    assert [one.text for one in (found, *found.alternatives)] == [label for label, _ in best]
    assert [one.confidence for one in (found, *found.alternatives)] == pytest.approx([chance for _, chance in best])
    assert [math.exp(one.score) for one in found.alternatives] == pytest.approx([chance for _, chance in best[1:]])
    assert found.probabilities == whole.probabilities
    lines = command("predict", three, text, "--n-best", count).printed.splitlines()
    rows = [line.split(" ||| ") for line in lines]
    assert [(number, label) for number, label, _ in rows] == [("0", label) for label, _ in best]
    assert [float(chance) for *_, chance in rows] == pytest.approx([chance for _, chance in best], abs=1e-4)
    told = json.loads(command("predict", three, text, "--n-best", count, "--json").printed)
    assert [one["text"] for one in (told, *told["alternatives"])] == [label for label, _ in best]
    chances = [one["probabilities"][one["text"]] for one in (told, *told["alternatives"])]
    assert chances == pytest.approx([chance for _, chance in best])


def test_more_labels_than_there_are_cannot_be_asked_for(three):
    done = command("predict", three, "a film", "--n-best", 4)
    assert (done.code, done.said) == (2, "error: --n-best: is 4, and the model has 3 labels (at most 3)\n")


def test_ranked_labels_have_calibrated_probabilities():
    known = LabelPrediction("so", "a", math.log(0.5), probabilities={"b": 0.3, "a": 0.5, "c": 0.2})
    mended = LabelAnswer().recalibrated(known, [[0.6, 0.35, 0.05]])
    found = LabelAnswer.ranking.with_alternatives(mended, 2).alternatives
    assert [(one.text, one.confidence, one.details()["calibrated"]) for one in found] == [("b", 0.35, True)]


def test_two_classifiers_are_compared_with_p_values(folder, monkeypatch):
    monkeypatch.setattr(train, "Child", Inside)
    words = [folder / "attention.yaml", folder / "mean.yaml", "--seeds", 1, "--updates", 4, "--quiet"]
    done = command("compare", *words, "--run", folder / "compared")
    assert done.code == 0, done.said
    told = json.loads((folder / "compared" / "compare.json").read_text())
    assert [metric["name"] for metric in told["metrics"]] == ["accuracy", "f1"]
    assert told["systems"][1]["scores"]["accuracy"]["p_value"] is not None
    bag = told["bag_of_words"]["accuracy"]["bag of words"]
    assert (bag["mean"], bag["difference"]) == (100.0, None)  # the word good or bad decides


@pytest.mark.filterwarnings("default:.*cannot answer")
def test_an_unknown_dev_label_counts_as_wrong_with_a_warning(folder, tmp_path):
    (tmp_path / "dev.tsv").write_text("neutral\tso so\npos\tgood\n")
    words = ["training.max_updates=2", "training.validate_every=2"]
    words += [f"data.dev.file={tmp_path / 'dev.tsv'}", "--run", tmp_path / "run"]
    done = command("train", folder / "attention.yaml", *words)
    assert done.code == 0
    assert "dev.tsv: the model cannot answer 1 of 2 examples: there is no 'neutral' in example 1" in done.said


def test_a_run_is_judged_by_another_test_part(folder, tmp_path):
    (tmp_path / "other.tsv").write_text("pos\tgood\nneg\tgood\n")
    reader = f"{{name: tsv, file: {tmp_path / 'other.tsv'}, fields: {{label: 1, text: 2}}}}"
    evaluation = evaluate([folder / "run"], changes=[f"data.test={reader}"])
    assert (evaluation.examples, evaluation.systems[0].scores[0].value) == (2, 50.0)


def test_unknown_labels_of_a_test_part_are_told(folder, tmp_path):
    (tmp_path / "other.tsv").write_text("pos\tgood\nneutral\tso so\n")
    reader = f"{{name: tsv, file: {tmp_path / 'other.tsv'}, fields: {{label: 1, text: 2}}}}"
    with pytest.warns(UserWarning, match="cannot answer 1 of 2 examples: there is no 'neutral'"):
        evaluation = evaluate([folder / "run"], changes=[f"data.test={reader}"])
    assert evaluation.systems[0].scores[0].value <= 50


def test_a_wrong_reader_is_told_by_its_part(folder, tmp_path):
    done = command("train", folder / "attention.yaml", "data.dev={name: tsv, file: missing.tsv, fields: {label: 0}}")
    assert done.code == 2 and "data.reader" not in done.said and "error: data.dev" in done.said, done.said


@pytest.mark.parametrize("model", ["translator", "language_model"])
def test_a_model_of_another_task_is_refused(folder, model):
    done = command("train", folder / "attention.yaml", f"model={model}")
    assert done.code == 2
    assert done.said.count("error:") == 1


@pytest.mark.parametrize(("threshold", "label"), [(0.29, "spam"), (0.31, "ham"), (0.5, "ham")])
def test_a_threshold_decides_between_two_labels(threshold, label):
    known = LabelPrediction("x", "ham", math.log(0.7), probabilities={"spam": 0.3, "ham": 0.7})
    found = LabelAnswer.threshold.decided(known, threshold)
    assert (found.text, found.score) == (label, pytest.approx(math.log(known.probabilities[label])))
    assert LabelAnswer.ranking.with_alternatives(found, 2).alternatives[0].text == {"ham": "spam", "spam": "ham"}[label]


def test_a_threshold_of_three_labels_is_refused(three):
    done = command("predict", three, "a film", "decoding.threshold=0.2")
    assert (done.code, done.said.count("error:")) == (2, 1)
    assert "decoding.threshold: needs two labels, and the model has 3" in done.said
    tuned = command("tune", three)
    assert (tuned.code, tuned.said.count("\n")) == (2, 1)  # before any prediction, which would be told
    assert "needs two labels, and the model has 3" in tuned.said


@pytest.mark.parametrize("metric", ["binary_f1", "matthews"])
def test_a_threshold_is_tuned_for_a_metric(folder, tmp_path, metric):
    """No threshold of the dev set has a better figure than the chosen one, by scikit-learn."""
    theirs = pytest.importorskip("sklearn.metrics")
    (tmp_path / "dev.tsv").write_text("".join(f"{'pos' if n % 5 else 'neg'}\t{n} {TEXTS[n % 6]}\n" for n in range(40)))
    words = [f"data.dev.file={tmp_path / 'dev.tsv'}", "training.max_updates=12", "--run", tmp_path / "run", "--quiet"]
    assert command("train", folder / "attention.yaml", *words).code == 0
    done = command("tune", tmp_path / "run", f"evaluation.metrics={metric}")
    kept = json.loads((tmp_path / "run" / "threshold.json").read_text())
    rows = [line.split("\t") for line in (tmp_path / "dev.tsv").read_text().splitlines()]
    right = [label for label, _ in rows]
    figure = {"binary_f1": lambda a: theirs.f1_score(right, a, pos_label="pos"),
              "matthews": lambda a: theirs.matthews_corrcoef(right, a)}[metric]  # fmt: skip
    plain = regard.load(tmp_path / "run", ["decoding.threshold=0.5"]).predict([text for _, text in rows])
    chances = [one.probabilities["pos"] for one in plain]
    best = max(figure(["pos" if one > least else "neg" for one in chances]) for least in [0, *chances])
    assert kept["after"] == pytest.approx(100 * best)
    assert kept["before"] == pytest.approx(100 * figure([one.text for one in plain]))
    assert f"{kept['before']:.2f} before, {kept['after']:.2f} after" in done.printed
    assert "40 dev examples" in done.said and "by chance" in done.said
    tuned = regard.load(tmp_path / "run").predict([text for _, text in rows])
    assert figure([one.text for one in tuned]) == pytest.approx(best)
    assert "remove the file" in done.printed
    (scored,) = json.loads(command("evaluate", tmp_path / "run", "--json").printed)["systems"]
    assert scored["threshold"] == kept["threshold"]
    assert f"threshold {kept['threshold']:.4g}" in command("evaluate", tmp_path / "run").printed
    (tmp_path / "run" / "threshold.json").unlink()
    assert ", threshold" not in command("evaluate", tmp_path / "run").printed
