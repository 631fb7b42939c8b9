"""Public members of a predictor and its explainer: few, and each with a docstring."""

from inspect import cleandoc

import pytest
from networks import build_translator
from tasks import predictor_of, translation_of

from regard.predictor.explainer import Explainer
from regard.predictor.predictor import Predictor
from regard.registry import Choice
from regard.text import train_tokenizer

MOST = 12


def public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


@pytest.fixture(scope="module")
def predictor():
    tokenizer = train_tokenizer(Choice("characters"), ["a dog runs"])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator(dict(dim=8, encoder=blocks, decoder=blocks), len(tokenizer), len(tokenizer))
    return predictor_of(model, translation_of(tokenizer))


def test_a_predictor_has_few_members(predictor):
    assert len(public(predictor)) <= MOST and len(public(predictor.explainer)) <= MOST
    assert {"predict", "translate", "translate_file", "score", "explain", "explainer", "copy"} <= {*public(predictor)}


@pytest.mark.parametrize("owner", [Predictor, Explainer])
def test_every_member_has_a_docstring_with_an_example(predictor, owner):
    members = public(predictor if owner is Predictor else predictor.explainer)
    assert members == public(owner)  # no attribute without a docstring
    lacking = [name for name in members if ">>> " not in cleandoc(getattr(owner, name).__doc__ or "")]
    assert lacking == []


def test_the_explainer_answers_as_the_predictor_does(predictor):
    (found,) = predictor.explain(["a dog"], method="saliency")
    (again,) = predictor.copy().explainer.relevance(predictor.predict(["a dog"]), "saliency")
    assert found.values == again.values
