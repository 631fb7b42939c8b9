"""Calibrated probabilities of predictions, and answers that are withheld."""

import math

import pytest
from networks import build_translator
from tasks import engine_of, translation_of

from regard.answers import LabelPrediction
from regard.answers.span import SpanPrediction
from regard.answers.tags import TagsPrediction
from regard.predictor import Predictor
from regard.predictor.confidence import abstained
from regard.registry import Choice
from regard.results import DocumentPrediction, Prediction, TextPrediction
from regard.statistical.calibration import CALIBRATIONS, Calibrations
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "", "two cats"]


@pytest.fixture
def predictor():
    tokenizer = train_tokenizer(Choice("characters"), TEXTS)
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator(dict(dim=8, encoder=blocks, decoder=blocks), len(tokenizer), len(tokenizer))
    task = translation_of(tokenizer)
    search = Choice("beam", {"size": 3, "n_best": 2, "max_extra": 5})
    return Predictor(model, task, engine_of(model, task, search))


def temperature(value, whole=None):
    rows = [one and CALIBRATIONS.build(Choice("temperature", {"temperature": one})) for one in (value, whole)]
    return Calibrations(*rows)


def test_pieces_are_mended_one_by_one(predictor):
    """Of two choices, p at temperature 2 is sqrt(p) / (sqrt(p) + sqrt(1 - p)); the answer and its score stay."""
    before = predictor.predict(TEXTS)
    predictor.setup.calibration = temperature(2.0)
    for old, new in zip(before, predictor.predict(TEXTS), strict=True):
        for one, other in zip([old, *old.alternatives], [new, *new.alternatives], strict=True):
            assert (other.text, other.score, other.log_probs) == (one.text, one.score, one.log_probs)
            given = one.item_probabilities()
            roots = [(math.sqrt(p), math.sqrt(1 - p)) for p in given]
            assert (other.confidences or []) == pytest.approx([a / (a + b) for a, b in roots])
            assert (other.confidences is not None) == bool(given)


def test_a_temperature_of_one_leaves_every_bit(predictor):
    before = predictor.predict(TEXTS)
    predictor.setup.calibration = temperature(1.0)
    for old, new in zip(before, predictor.predict(TEXTS), strict=True):
        assert (new.confidences or []) == old.item_probabilities()
        assert new.confidence == old.confidence


def test_a_whole_answer_is_mended_by_the_mean_of_its_pieces(predictor):
    """m becomes sqrt(m) / (sqrt(m) + sqrt(1 - m)); its pieces stay as they are."""
    predictor.setup.calibration = temperature(3.0)
    by_items = predictor.predict(TEXTS)
    predictor.setup.calibration = temperature(3.0, 2.0)
    for one, whole in zip(by_items, predictor.predict(TEXTS), strict=True):
        assert whole.confidences == one.confidences
        assert (one.calibrated_confidence, whole.calibrated_confidence) == (None, whole.confidence)
        mean = one.confidence
        assert whole.confidence == (mean and pytest.approx(mean**0.5 / (mean**0.5 + (1 - mean) ** 0.5)))


def test_given_translations_are_mended_as_well(predictor):
    predictor.setup.calibration = temperature(2.0)
    (found,) = predictor.score(["a dog runs"], ["two cats"])
    assert len(found.confidences) == len(found.log_probs) - 1  # the end symbol is no piece


@pytest.mark.parametrize(
    ("prediction", "sure"),
    [
        (TextPrediction("a", "b c", -3.0, [math.log(0.5), math.log(0.25), -1.0]), (0.5 + 0.25) / 2),
        (TextPrediction("a", "b c", -3.0, [math.log(0.5), math.log(0.25)], finished=False), (0.5 + 0.25) / 2),
        (TextPrediction("a", "", 0.0), None),
        (LabelPrediction("a", "good", -0.1, probabilities={"good": 0.9, "bad": 0.1}), 0.9),
        (TagsPrediction("a b", "X Y", -1.0, tags=["X", "Y"], probabilities=[0.5, 0.7]), 0.6),
        (SpanPrediction("a b", "b", math.log(0.3), start=2, end=3), 0.3),
    ],
)
def test_confidence_by_hand(prediction, sure):
    assert prediction.confidence == (None if sure is None else pytest.approx(sure))
    assert prediction.confidences is None
    told = prediction.details()
    assert told.get("confidence") == prediction.confidence
    assert ("calibrated" in told) == (sure is not None)


def test_a_text_is_as_sure_as_its_least_sure_sentence(predictor):
    """Calibrated or not; sentences without pieces do not count."""
    text = "a dog runs. two cats. a dog."
    (before,) = predictor.translate([text])
    assert len(before.parts) == 3
    assert before.confidence == min(one.confidence for one in before.parts)
    predictor.setup.calibration = temperature(2.0)
    (found,) = predictor.translate([text])
    assert found.confidences == [min(one.confidence for one in found.parts)] != [before.confidence]
    assert abstained([found], 1.0)[0].withheld == found.text
    bare = DocumentPrediction("a", "b", -1.0, parts=[Prediction("", "", 0.0)])
    assert bare.confidence is None


def test_unsure_answers_are_withheld_and_marked():
    sure, unsure = Prediction("a", "b", -1.0, confidences=[0.9]), Prediction("c", "d", -2.0, confidences=[0.5])
    kept, other = abstained([sure, unsure], 0.9)
    assert kept is sure
    assert (other.text, other.withheld, str(other)) == ("", "d", "[no answer: confidence 0.50]")
    assert other.details() == {"confidence": 0.5, "calibrated": True, "abstained": True, "withheld": "d"}


def test_abstention_at_zero_answers_everything():
    found = [Prediction("a", "b", 0.0), Prediction("c", "d", -9.0, confidences=[0.0]), Prediction("", "", 0.0)]
    assert abstained(found, 0.0) == found
    assert [one.withheld for one in abstained(found, 1.0)] == ["b", "d", None]
