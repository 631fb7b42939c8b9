"""What every kind of prediction keeps: a warning is told as JSON, too."""

import json

import pytest

from regard.answers import LabelPrediction
from regard.answers.labels import LabelsPrediction
from regard.answers.neighbours import NearestPrediction
from regard.answers.number import NumberPrediction
from regard.answers.numbers import NumbersPrediction
from regard.answers.span import SpanPrediction
from regard.answers.symbols import SymbolsPrediction
from regard.answers.tags import TagsPrediction
from regard.explain import to_json
from regard.predictor.line_answers import LineFormat
from regard.results import DocumentPrediction, Prediction, TextPrediction

MADE = {
    Prediction: {},
    TextPrediction: {},
    DocumentPrediction: {"parts": [Prediction("a dog", "x y", -0.5)]},
    LabelPrediction: {"probabilities": {"x y": 1.0}},
    TagsPrediction: {"tags": ["x", "y"], "probabilities": [0.5, 0.5]},
    SymbolsPrediction: {"symbols": ["x", "y"], "probabilities": [0.5, 0.5]},
    SpanPrediction: {"start": 0, "end": 1},
    NearestPrediction: {"nearest": [("x y", 0.5)], "vector": [1.0]},
    LabelsPrediction: {"probabilities": {"x y": 1.0}},
    NumberPrediction: {"number": 1.0},
    NumbersPrediction: {"numbers": [[1.0]]},
}


def test_every_kind_is_tried():
    assert set(MADE) == {Prediction, *Prediction.__subclasses__()}


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_warning_is_told_in_json(kind):
    plain, warned = (kind("a dog", "x y", -0.5, **MADE[kind], **more) for more in ({}, {"warning": "it is a guess"}))
    assert warned.details() == {**plain.details(), "warning": "it is a guess"}
    assert "warning" not in plain.details()
    line = LineFormat(as_json=True).write(warned, 0)
    assert json.loads(line)["warning"] == "it is a guess"
    assert to_json([warned])["predictions"][0]["details"]["warning"] == "it is a guess"
