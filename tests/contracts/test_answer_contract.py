"""What every row of ANSWERS keeps: its record survives JSON, its lines are drawn, its items and metrics fit it."""

import io
import json
import math

import pytest
from rich.console import Console

from regard.answers import ANSWERS, LabelPrediction, answer_of, show
from regard.answers.labels import LabelsPrediction
from regard.answers.neighbours import NearestPrediction
from regard.answers.number import NumberPrediction
from regard.answers.numbers import NumbersPrediction
from regard.answers.span import SpanPrediction
from regard.answers.symbols import SymbolsPrediction
from regard.answers.tags import TagsPrediction
from regard.data.columns import TextColumn
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.explain import to_json
from regard.registry import Choice
from regard.results import DocumentPrediction, Prediction, TextPrediction
from regard.serve.engine.messages import HEAD, BatchReply, Carried, Found, heard, packed
from regard.tasks import TASKS, task_class
from regard.text.characters import CharactersRecipe

LOGS = [math.log(0.5), math.log(0.25), 0.0]
MADE = {
    Prediction: Prediction("a dog", "a b", sum(LOGS), LOGS),
    TextPrediction: TextPrediction("a dog", "ab", sum(LOGS), LOGS),
    DocumentPrediction: DocumentPrediction("a dog. b", "x y", -1.0, parts=[Prediction("a dog.", "x", -0.5, LOGS)]),
    LabelPrediction: LabelPrediction("a dog", "good", math.log(0.75), probabilities={"good": 0.75, "bad": 0.25}),
    TagsPrediction: TagsPrediction("a dog", "D N", -1.0, tags=["D", "N"], probabilities=[0.5, 0.25]),
    SymbolsPrediction: SymbolsPrediction("d qb", "a b", -1.0, symbols=["a", " ", "b"], probabilities=[0.5, 1.0, 0.25]),
    SpanPrediction: SpanPrediction("a dog runs\twhat?", "dog", math.log(0.5), start=2, end=5),
    NearestPrediction: NearestPrediction("a dog", "cat\twolf", 0.5, nearest=[("cat", 0.5), ("wolf", 0.25)]),
    LabelsPrediction: LabelsPrediction("a dog", "a, b", -0.6, probabilities={"a": 0.9, "b": 0.75, "c": 0.2}),
    NumberPrediction: NumberPrediction("a dog", "3.5", 0.0, number=3.5),
    NumbersPrediction: NumbersPrediction("1 0", "0.5 1", -0.5, numbers=[[0.5, 1.0]]),
}
RECORDS = [record for row in ANSWERS.values() for record in row.records]
rows = pytest.mark.parametrize("name", sorted(ANSWERS))
records = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
evaluated = pytest.mark.parametrize("name", [name for name, row in sorted(ANSWERS.items()) if row.items])


def column() -> TextColumn:
    return TextColumn(CharactersRecipe().train(["a b dog"]))


def made(name: str) -> Prediction:
    """A prediction of a row: of a kind of text without a record of its own, a text."""
    return MADE[next(iter(ANSWERS[name].records), TextPrediction)]


def test_every_record_has_one_row_and_is_tried():
    assert len(RECORDS) == len(set(RECORDS))
    assert set(RECORDS) == set(MADE)
    assert set(RECORDS) == {Prediction, *Prediction.__subclasses__()}


def test_rows_are_found_by_their_names():
    assert all(row.name == name for name, row in ANSWERS.items())


def test_every_row_answers_a_task():
    assert {type(row) for row in ANSWERS.values()} == {type(task_class(name).answer) for name in TASKS}


@records
def test_a_record_survives_the_pipe(record):
    said = BatchReply(number=1, outcomes=[Found(Carried(MADE[record]))])
    (outcome,) = heard(packed(said)[HEAD:]).outcomes
    assert outcome.prediction.prediction == MADE[record]


@records
def test_json_and_the_page_have_the_answer(record):
    one = MADE[record]
    assert json.loads(json.dumps(one.details())) == one.details()
    (told,) = to_json([one])["predictions"]
    assert (told["text"], told["answers"]) == (one.text, one.answers)


@records
def test_lines_show_the_answer(record):
    file = io.StringIO()
    show([MADE[record]], Console(file=file, width=60))
    assert all(word in file.getvalue() for word in MADE[record].text.split("\t")[0].split())


@rows
def test_choices_of_an_item_are_a_distribution(name):
    row, one = ANSWERS[name], made(name)
    choices = row.choices(one)
    assert all(0 <= share <= 1 for some in choices for share in some)
    assert all(math.isclose(math.fsum(some), 1) for some in choices)
    assert all(0 <= sure <= 1 for sure in one.item_probabilities())


@rows
def test_recalibrating_keeps_the_answer(name):
    row, one = ANSWERS[name], made(name)
    choices = row.choices(one)
    if not choices:
        pytest.skip("no item has a probability")
    mended = row.recalibrated(one, [[1 / len(some)] * len(some) for some in choices])
    assert (type(mended), mended.text) == (type(one), one.text)
    assert mended.confidences == [1 / len(some) for some in choices]


@evaluated
def test_the_right_answer_has_right_items_alone(name):
    row, one = ANSWERS[name], made(name)
    assert row.correct_items(one, one.text, column()) == [True] * len(one.item_probabilities())
    right = row.right_choices(one, one.text, column())
    assert len(right) == len(row.choices(one))
    assert all(0 <= place < len(some) for place, some in zip(right, row.choices(one), strict=True))


@evaluated
def test_another_answer_has_a_wrong_item(name):
    row, one = ANSWERS[name], made(name)
    other = " ".join("?" for _ in one.text.split())
    assert not all(row.correct_items(one, other, column()))


@evaluated
def test_words_are_made_of_items(name):
    row, one = ANSWERS[name], made(name)
    places = [place for word in row.word_items(one, column()) for place in word]
    assert set(places) <= set(range(len(one.item_probabilities())))


@rows
def test_metrics_judge_the_answer(name):
    row = ANSWERS[name]
    assert set(row.metrics()) <= set(METRICS)
    if "exact_match" in row.metrics():
        metric = METRICS.build(Choice("exact_match"))
        corpus = corpus_of([made(name).text], [[made(name).text]])
        assert metric.value(metric.statistics(corpus).sum(axis=0)) == 100


def test_what_a_metric_judges_is_a_row():
    assert {METRICS[name].answer_kind for name in METRICS} <= {row.form for row in ANSWERS.values()}
    assert all(any(name in row.metrics() for row in ANSWERS.values()) for name in METRICS)


class CertainLabel(LabelPrediction):
    """A label without doubt."""


def test_a_subclass_has_the_row_of_its_record():
    assert answer_of(CertainLabel("a dog", "good", 0.0)) is answer_of(MADE[LabelPrediction]) is ANSWERS["label"]
