"""Algorithmic problems: answers, what they looked at, figures and faults, in Python and on the command line."""

import pytest
import torch
from small_runs import regard as command
from torch.testing import assert_close

import regard
from regard.answers.numbers import NumbersPrediction
from regard.attention import recording
from regard.data.columns.numbers import NumbersColumn
from regard.models import MODELS, Model
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.tasks.algorithmic import AlgorithmicTask

BITS = {"given": ["1 0; 0 1; 1 1", "0 1", "1 1; 1 0"]}
BITS["wanted"] = BITS["given"]
SUMS = {"given": ["0.5 1; -0.2 0; 0.1 1", "0.25 1; 1 1"], "wanted": ["0.65", "0.8125"]}


def parts(name: str, examples: dict[str, list[str]], **settings) -> tuple[Model, AlgorithmicTask]:
    columns = {column: NumbersColumn.learn(values, Choice("words")) for column, values in examples.items()}
    model = MODELS.build(Choice(name, settings), columns).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.requires_grad_(False), AlgorithmicTask(columns)


def machine() -> tuple[Model, AlgorithmicTask]:
    return parts("neural_turing_machine", BITS, dim=5, num_slots=6, slot_dim=3, num_heads=2)


@pytest.mark.parametrize(
    ("name", "examples"), [("neural_turing_machine", BITS), ("sequence_regressor", SUMS)], ids=["machine", "regressor"]
)
def test_predictions_are_what_the_model_answers(name, examples):
    model, task = parts(name, examples, dim=5)
    (batch,) = task.held(examples, 1000)
    (numbers, mask), scores = model.answer(batch)
    for row, found in enumerate(task.predict(model, batch)):
        assert isinstance(found, NumbersPrediction)
        assert found.source in examples["given"]
        assert found.score == pytest.approx(float(scores[row]))
        assert_close(torch.tensor(found.numbers).double(), numbers[row][mask[row]], rtol=0, atol=1e-6)
        assert found.details()["numbers"] == found.numbers


def test_a_regressor_looked_at_rows_as_its_pooling_did():
    model, task = parts("sequence_regressor", SUMS, dim=5)
    (batch,) = task.held(SUMS, 1000)
    with recording(model) as records:
        model.answer(batch)
    (_, (attended,)) = records["pooling.attention"]
    for row, found in enumerate(task.explain(model, batch)):
        (shown,) = found.maps
        assert (shown.kind, shown.queries, shown.keys) == ("pooling", "", "given")
        weights = attended.weights[row, 0, : len(found.source_tokens)]
        assert_close(torch.tensor(found.weights[0]).double(), weights.double(), rtol=0, atol=1e-4)
        assert found.alignment == [(int(weights.argmax()), 0)]
    assert {name: one.texts for name, one in found.columns.items()} == {
        "given": ["0.25,1", "1,1"],
        "wanted": ["0.8125"],
    }


def test_states_that_are_no_rows_are_not_shown():
    longer = Choice("bytenet", {"ratio": 2.0, "hidden_dim": 4, "dilations": [1], "num_layers": 1})
    model, task = parts("sequence_regressor", SUMS, dim=5, encoder=longer)
    (batch,) = task.held(SUMS, 1000)
    assert [(found.weights, found.maps, found.alignment) for found in task.explain(model, batch)] == [([], [], [])] * 2


def test_what_does_not_choose_looked_at_nothing():
    model, task = parts("sequence_regressor", SUMS, dim=5, pooling=Choice("mean"))
    (batch,) = task.held(SUMS, 1000)
    assert [(found.weights, found.maps, found.alignment) for found in task.explain(model, batch)] == [([], [], [])] * 2


def test_heads_of_a_machine_are_shown_step_by_step():
    model, task = machine()
    (batch,) = task.held(BITS, 1000)
    traces = model.traces(batch)
    for row, found in enumerate(task.explain(model, batch)):
        read = len(found.columns["given"].texts)
        assert found.source_tokens == [*found.columns["given"].texts, "·"]
        assert found.columns["steps"].texts == [*found.source_tokens, *found.target_tokens]
        assert found.columns["slots"].texts == list("012345")
        names = [(one.name, one.kind, one.layer, one.queries, one.keys) for one in found.maps]
        kinds = [("write_head", 0), ("write_head", 1), ("read_head", 0), ("read_head", 1)]
        assert names == [(f"{name}.{number}", "memory", number, "steps", "slots") for name, number in kinds]
        for shown, trace in zip(found.maps, traces, strict=True):
            wanted = trace.weights[row, : 2 * read + 1].double()
            assert_close(torch.tensor(shown.weights[0]).double(), wanted, rtol=0, atol=1e-4)
            assert_close(torch.tensor(found.array(shown).values[0]).double(), wanted, rtol=0, atol=1e-4)


def test_rows_of_an_answer_come_from_steps_that_wrote_where_they_are_read():
    """By hand: the mean head that reads at an answer's step, times the mean head that wrote at a step, by slots."""
    model, task = machine()
    (batch,) = task.held(BITS, 1000)
    traces = model.traces(batch)
    for row, found in enumerate(task.explain(model, batch)):
        read = len(found.source_tokens)
        for answer, line in enumerate(found.weights):
            for given, weight in enumerate(line):
                wrote, reads = ([one.weights[row] for one in traces if one.writes is kind] for kind in (True, False))
                shares = [
                    float(one[given, slot] * other[read + answer, slot]) / 4
                    for one in wrote
                    for other in reads
                    for slot in range(6)
                ]
                assert weight == pytest.approx(sum(shares), abs=1e-4)


def test_limits_count_rows():
    _, task = machine()
    assert task.filter.most_ids(7) == 14  # numbers, two of which are a row


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("problems")
    train = "{name: adding, length: 6, min_length: 3, examples: 200}"
    dev = "{name: adding, length: 6, min_length: 3, examples: 40, seed: 2}"
    (folder / "adding.yaml").write_text(
        f"task: algorithmic\ndata: {{train: {train}, dev: {dev}, test: {dev}}}\n"
        "model: {name: sequence_regressor, dim: 20, hidden_dim: 20}\nevaluation: {metrics: [within_tolerance]}\n"
        "training: {max_updates: 200, batch_sentences: 25, learning_rate: 0.01, schedule: constant,"
        " validate_every: 100, average: 1}\n"
    )
    done = command("train", folder / "adding.yaml", "--run", folder / "run", "--quiet")
    assert done.code == 0, done.said
    return folder


def test_it_learns_to_add_what_is_marked(folder):
    evaluation = evaluate([folder / "run", folder / "run"])
    ((within,),) = (one.scores for one in evaluation.systems[:1])
    assert (within.name, evaluation.comparisons[0][1].p_value) == ("within tolerance", 1.0)
    assert within.value > 80  # 0.5, said of all, is right of one in six


def test_predict_and_explain_answer_rows(folder, capsys):
    (found,) = regard.load(folder / "run").predict(["0.5 1; 0.9 0; -0.5 1; 0.2 0"], explain=True)
    assert found.numbers[0][0] == pytest.approx(0.5, abs=0.1)
    assert len(found.explanation.weights[0]) == 4
    picture = folder / "rows.svg"
    done = command("explain", folder / "run", "0.5 1; 0.9 0; -0.5 1; 0.2 0", "--plot", picture)
    assert done.code == 0, done.said
    assert "-0.5,1" in picture.read_text()


def test_what_is_learnt_and_from_what_is_told(folder):
    done = command("train", folder / "adding.yaml", "training.max_updates=1", "--run", folder / "told")
    assert "learning numbers from 200 examples of sums of two of 3 to 6 values, seed 1\n" in done.said


def test_a_plan_tells_what_would_be_trained(folder):
    done = command("train", folder / "adding.yaml", "--plan", "--run", folder / "planned")
    assert done.code == 0, done.said
    assert not (folder / "planned" / "config.yaml").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0.3 1; x 0", "'x' is not a number"),
        ("0.3 1; 3", "row 2 has 1 numbers, the first has 2"),
        ("5000 1", "'5000' is out of bounds"),
        ("1 2 3", "rows of 3 numbers, and all rows have 2"),
    ],
)
def test_what_cannot_be_read_is_one_line(folder, text, told):
    done = command("explain", folder / "run", text)
    assert done.code == 2
    assert told in done.said
    assert done.said.count("\n") == 1


@pytest.fixture
def files(tmp_path):
    """Eight examples in files, and what is said of them."""
    (tmp_path / "given").write_text("".join(f"0.{row} 1; 0.5 1\n" for row in range(8)))
    (tmp_path / "wanted").write_text("".join(f"0.{row}\n" for row in range(8)))
    (tmp_path / "odd").write_text((tmp_path / "wanted").read_text().replace("0.2", "two"))
    (tmp_path / "broken").write_text((tmp_path / "given").read_text().replace("0.2", "two"))
    both = f"{{given: {tmp_path / 'given'}, wanted: {tmp_path / 'wanted'}}}"
    (tmp_path / "config.yaml").write_text(
        f"task: algorithmic\ndata: {{train: {both}, dev: {both}, test: {both}}}\n"
        "model: {dim: 4, hidden_dim: 4}\ntraining: {max_updates: 1, validate_every: 1, average: 1}\n"
    )
    return tmp_path


@pytest.mark.parametrize("part", ["train", "dev"])
def test_a_file_with_what_is_no_number_is_told_by_its_line(files, part):
    change = f"data.{part}.given={files / 'broken'}"
    done = command("train", files / "config.yaml", change, "--run", files / "run", "--quiet")
    assert (done.code, done.said.count("\n")) == (2, 1)
    assert "broken:3: column numbers: 'two' is not a number" in done.said


def test_examples_of_a_test_part_that_cannot_be_read_are_told(files):
    done = command("train", files / "config.yaml", "--run", files / "run", "--quiet")
    assert done.code == 0, done.said
    done = command("evaluate", files / "run", f"data.test.given={files / 'broken'}")
    assert (done.code, done.said.count("error")) == (2, 1)
    assert "numbers:3: 'two' is not a number" in done.said
    with pytest.warns(UserWarning, match="cannot answer 1 of 8 examples: 'two' is not a number"):
        evaluation = evaluate([files / "run"], changes=[f"data.test.wanted={files / 'odd'}"])
    assert evaluation.examples == 8


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("data.train.length=1", "data.train.min_length: is 3, more than the length of 1"),
        ("data.dev.min_length=1", "data.dev.min_length: is 1 (at least 2)"),
        ("data.max_length=2", "200 examples of sums of two of 3 to 6 values, seed 1: no example can be used"),
        ("objective.label_smoothing=0.1", "label_smoothing: is 0.1, but a regression has no classes"),
        ("data.train={name: copying, examples: 9}", "writes several"),
        ("model={name: neural_turing_machine}", "model: a Neural Turing Machine answers bits"),
        ("model=translator", "'translator' needs the column 'source', and the task 'algorithmic' has given, wanted"),
        ("training.metric=bleu", "there is no 'bleu'"),
        ("model={name: translator, encoder: recurrent, decoder: recurrent}", "'translator' needs the column 'source'"),
    ],
)
def test_settings_that_cannot_be_are_one_line(folder, tmp_path, change, told):
    done = command("train", folder / "adding.yaml", change, "--run", tmp_path / "run", "--quiet")
    assert done.code == 2, done.said
    assert told in done.said
    assert done.said.count("error:") == 1
