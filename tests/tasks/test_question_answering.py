"""Question answering: hops as sentences, each story's own, from a trained run to a table on the terminal."""

import io

import pytest
import torch
from rich.console import Console
from small_runs import regard as command

import regard
from regard.answers import show
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.models import MODELS
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.tasks.question_answering import QuestionAnsweringTask

NAMES = ("passage", "question", "answer")
ROWS = [
    ("Mary went to the hall. John slept. John left.", "Where is Mary?", "hall"),
    ("John slept.", "Who slept?", "John"),
]
HOPS = 2


@pytest.fixture
def parts():
    rows = [Example(line, dict(zip(NAMES, row, strict=True))) for line, row in enumerate(ROWS, start=1)]
    columns = learn_columns(QuestionAnsweringTask.columns, [rows], Choice("words"), shared=True)
    model = MODELS.build(Choice("memory_network", {"dim": 4, "num_hops": HOPS, "memory_size": 2}), columns)
    for table in model.tables:
        torch.nn.init.normal_(table.words.weight)
    return model.double().requires_grad_(False).eval(), QuestionAnsweringTask(columns)


@pytest.mark.filterwarnings("ignore:model.memory_size")
def test_hops_are_rows_and_sentences_in_memory_are_columns(parts, monkeypatch):
    model, task = parts
    batch, asked = task.batch(task.encode([dict(zip(NAMES, row, strict=True)) for row in ROWS])), []
    hop = model.hop.forward
    monkeypatch.setattr(model.hop, "forward", lambda *given: (asked.append(given), hop(*given))[1])
    found = task.explain(model, batch)
    assert [one.source_tokens for one in found] == [["John slept.", "John left."], ["John slept."]]
    for row, one in enumerate(found):
        assert one.target_tokens == [f"hop {number}" for number in range(1, HOPS + 1)]
        for weights, (query, keys, _, mask) in zip(one.weights, asked, strict=True):
            wanted = (keys[row] @ query[row])[mask[row]].softmax(dim=0)
            assert weights == pytest.approx(wanted.tolist(), abs=1e-4)  # each is rounded


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on stories of two sentences, of which the one about Mary answers."""
    folder = tmp_path_factory.mktemp("stories")
    lines = [
        f"1 Mary went to the {place}.\n2 John went to the {other}.\n3 Where is Mary?\t{place}\t1\n"
        for place in ("hall", "garden", "park")
        for other in ("hall", "garden", "park")
    ] * 4
    (folder / "stories.txt").write_text("".join(lines))
    part = f"{{name: babi, file: {folder / 'stories.txt'}}}"
    (folder / "memory.yaml").write_text(
        f"task: question_answering\ndata: {{train: {part}, dev: {part}, test: {part}}}\n"
        "text: {tokenizer: words}\nmodel: {dim: 10, num_hops: 2}\n"
        "training: {batch_sentences: 36, learning_rate: 0.05, schedule: constant, max_updates: 80,"
        f" validate_every: 80, average: 1, clip_norm: 40}}\nrun: {folder / 'run'}\n"
    )
    done = command("train", folder / "memory.yaml", "--quiet")
    assert done.code == 0, done.said
    return folder / "run"


def test_it_is_trained_evaluated_and_explained_as_a_table(run):
    scores = {score.name: score.value for score in evaluate([run]).systems[0].scores}
    assert scores["accuracy"] == 100.0
    line = "Mary went to the garden. John went to the hall.\tWhere is Mary?"
    (found,) = regard.load(run).predict([line], explain=True)
    assert found.text == "garden"
    assert sum(found.probabilities.values()) == pytest.approx(1.0)
    assert found.explanation.weights[0][0] > 0.5  # the sentence about Mary
    console = Console(file=io.StringIO(), width=120)
    show([found], console)
    assert "Mary went to the garden." in console.file.getvalue() and "hop 1" in console.file.getvalue()
