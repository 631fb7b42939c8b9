"""Numbers for texts: standardised targets and losses by hand, a run that fits, and tables with words in them."""

import json
import math

import pytest
import torch
from small_runs import figures_of, trained_in, unsaid
from small_runs import regard as command

import regard
from regard.data.columns import learn_columns
from regard.data.columns.number import NumberColumn
from regard.data.examples import Example
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.models import MODELS
from regard.registry import Choice
from regard.tasks import TASKS
from regard.tasks.regression import PairRegressionTask, RegressionTask

ROWS = [("a dog", "a cat", "3"), ("one", "two", "5"), ("he reads", "he writes", "-2")]
NAMES = ("first", "second", "number")


@pytest.mark.parametrize("name", ["pair_classifier", "pair_encoder"])
def test_the_loss_is_the_squared_error_in_standard_deviations(name):
    rows = [Example(line, dict(zip(NAMES, row, strict=True))) for line, row in enumerate(ROWS, start=1)]
    columns = learn_columns(
        {"first": "text", "second": "text", "number": "number"}, [rows], Choice("words"), shared=True
    )
    torch.manual_seed(2)
    model = MODELS.build(Choice(name, {"dim": 8}), columns).double().eval()
    task = TASKS.build(Choice("pair_regression"), columns)
    batch = task.batch(task.encode([one.texts for one in rows]))
    numbers = torch.tensor([3.0, 5.0, -2.0], dtype=torch.float64)
    std = numbers.std(unbiased=False)
    found = torch.tensor([one.number for one in task.predict(model, batch)], dtype=torch.float64)
    torch.testing.assert_close(model.nll(batch).squeeze(1), ((found - numbers) / std).square(), atol=1e-5, rtol=1e-5)
    with pytest.raises(ConfigError, match="label_smoothing"):
        model.nll(batch, smoothing=0.1)


def test_numbers_are_standardised_and_read_back():
    column = NumberColumn.learn(["1", "3", "word"], Choice("words"))
    assert (column.mean, column.std) == (2.0, 1.0)
    assert column.collate([column.encode("1"), column.encode("3.5")]).tolist() == pytest.approx([-1.0, 1.5])
    large = NumberColumn(1e9, 1e7)
    assert large.decode(large.encode("1.23e9")) == "1.23e+09"
    assert column.decode(column.encode("1e9")) == "1002"  # a thousand standard deviations
    with pytest.raises(DataError, match="'1_000' is not a number"):
        column.encode("1_000")
    for values, problem in (
        (["a"], "no number"),
        (["2", "2.0"], "all 2 numbers are 2"),
        (["0.1"] * 3, "all 3 numbers are 0.1"),  # whose deviation is 1e-17 by rounding
    ):
        with pytest.raises(DataError, match=problem):
            NumberColumn.learn(values, Choice("words"))


def test_numbers_far_from_zero_stay_apart():
    """Times in seconds, ten minutes apart; a standardised number is float32."""
    times = [str(1_700_000_000 + 600 * step) for step in (0, 1, 1, 2, 3)]
    column = NumberColumn.learn(times, Choice("words"))
    decoded = [column.decode(column.encode(one)) for one in times]
    assert [float(one) for one in decoded] == pytest.approx([float(one) for one in times], rel=0, abs=0.01)
    given = [column.text(one) for one in column.collate([column.encode(one) for one in times]).flatten().tolist()]
    metric = METRICS.build(Choice("pearson"))
    assert metric.score(given, times).value == pytest.approx(100)
    assert metric.score(given, decoded).value == pytest.approx(100)


@pytest.mark.parametrize(("number", "text"), [(0.0, "0"), (-3.25, "-3.25"), (math.nan, "nan")])
def test_any_number_has_a_text(number, text):
    assert NumberColumn(0.0, 1.0).text(number) == text


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The number of a text is that of its words `good`, minus that of its words `bad`."""
    folder = tmp_path_factory.mktemp("numbers")
    texts = [" ".join(["good"] * good + ["bad"] * bad + ["film"]) for good in range(5) for bad in range(5)] * 3
    rows = [f"{10 * (text.count('good') - text.count('bad'))}\t{text}\n" for text in texts]
    (folder / "a.tsv").write_text("stars\ttext\n" + "".join(rows))
    part = f"{{name: tsv, file: {folder / 'a.tsv'}, fields: {{number: stars, text: text}}}}"
    return trained_in(
        folder,
        f"task: regression\ndata: {{train: {part}, dev: {part}, test: {part}}}\n"
        "model: {dim: 8, dropout: 0.0, encoder: {name: recurrent, hidden_dim: 8}, pooling: mean}\n"
        "training: {batch_sentences: 25, learning_rate: 0.03, max_updates: 90, validate_every: 30, average: 1}\n",
    )


@pytest.mark.parametrize(
    ("rows", "fields", "header"),
    [
        (["a good film\t3.5", "a bad film\t1"], {"text": 1, "number": 2}, False),
        (["3.5\ta good film", "1\ta bad film"], {"text": 2, "number": 1}, False),
        (["stars\treview", "3.5\ta good film", "1\ta bad film"], {"text": 2, "number": 1}, True),
        (["id\tstars\treview", "1\t3.5\ta good film", "2\t1\ta bad film"], {"text": 3, "number": 2}, True),
    ],
)
def test_fields_of_numbers_are_found(tmp_path, rows, fields, header):
    (tmp_path / "a.tsv").write_text("\n".join(rows * 20 if not header else [rows[0], *rows[1:] * 20]))
    found = RegressionTask.files.layout(("text", "number"), tmp_path / "a.tsv", "tsv")
    assert (found.fields, found.header) == (fields, header)
    assert f"number in field {fields['number']}, text in" in str(found)


def test_two_texts_and_a_number_are_found(tmp_path):
    (tmp_path / "a.tsv").write_text("one dog\ta dog barks\t3.5\n" * 9 + "a cat\ttwo cats\t1\n" * 9)
    found = PairRegressionTask.files.layout(NAMES, tmp_path / "a.tsv", "tsv")
    assert found.fields == {"first": 1, "second": 2, "number": 3}


@pytest.mark.parametrize("row", ["1\t3.5\ta film\n", "one\ta film\n"])
def test_a_table_without_one_field_of_numbers_is_one_line(tmp_path, row):
    (tmp_path / "a.tsv").write_text(row * 20)
    done = command("train", "--text", tmp_path / "a.tsv", "task=regression", "--run", tmp_path / "run")
    assert unsaid(done, "a.tsv: ", "fields: {number: 1, text: 2}") == []


def test_a_run_is_evaluated_predicts_and_explains(run):
    figures = figures_of(run / "run")
    assert figures["pearson"] > 95 and figures["spearman"] > 90 and figures["mean absolute error"] < 6
    done = command("predict", run / "run", "good good film", "--json")
    assert json.loads(done.printed)["number"] == pytest.approx(20, abs=8)
    (found,) = regard.load(run / "run").explain(["good bad film"], method="gradient_times_input")
    weights = dict(zip((one.strip(" ▁") for one in found.tokens["text"]), found.values["text"][0], strict=True))
    assert weights["good"] > 0 > weights["bad"]


def test_no_probabilities_are_offered_where_there_are_none(run):
    done = command("predict", run / "run", "good film", "--n-best", "3")
    assert done.code == 2 and unsaid(done, "--n-best: chooses among texts") == [] and "probabilities" not in done.said


def test_a_word_among_numbers_is_one_line_with_file_and_line(run):
    text = (run / "a.tsv").read_text().splitlines()
    text[4] = "good\tfilm"
    (run / "bad.tsv").write_text("\n".join(text) + "\n")
    done = command("train", run / "config.yaml", f"data.train.file={run / 'bad.tsv'}", f"run={run / 'x'}", "device=cpu")
    (line,) = [one for one in done.said.splitlines() if "not a number" in one]
    assert done.code == 2 and "bad.tsv:5: column number: 'good' is not a number" in line


def test_a_run_without_probabilities_is_not_calibrated(run):
    done = command("calibrate", run / "run")
    assert (done.code, "right or wrong" in done.said) == (2, True)
