"""Numerals through whole models: what a weak or untrained one writes loses none of them."""

import os
from pathlib import Path

import numerals
import pytest
from networks import build_translator
from small_runs import regard
from tasks import predictor_of, translation_of

from regard.documents.glossary import Glossary
from regard.models import AttentionSettings
from regard.predictor import Predictor, load
from regard.registry import Choice
from regard.text import train_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,:;!?'-0123456789%$是了的和价格今天温度我朋友买还有"


@pytest.fixture(scope="module")
def untrained() -> Predictor:
    """A model of random weights, whose vocabulary has digits and signs to write anywhere."""
    tokenizer = train_tokenizer(Choice("characters"), [LETTERS])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    search = Choice("beam", {"size": 2, "n_best": 2, "max_ratio": 1.0, "max_extra": 5})
    return predictor_of(model, task, search, languages=("en", "de"))


def check(predictor: Predictor, count: int, **given) -> None:
    wanted = list(numerals.sentences(count, seed=7))
    found = predictor.translate([one.text for one in wanted], **given)
    for one, prediction in zip(wanted, found, strict=True):
        for text in (prediction.text, *(other.text for other in prediction.alternatives)):
            assert numerals.lost(one.numerals, text) == [], text
        assert numerals.invented(one.numerals, prediction.text) == "" or prediction.warning


def test_an_untrained_model_loses_no_numeral(untrained):
    check(untrained, 60)


def test_terms_and_prefixes_lose_no_numeral(untrained):
    check(untrained, 10, glossary=Glossary.of_lines(["price\tPreis"]), prefixes=["ab"] * 10)


@pytest.mark.slow
def test_two_thousand_sentences_lose_no_numeral(untrained):
    check(untrained, 2000)


@pytest.mark.slow
def test_two_thousand_sentences_of_a_trained_model_lose_no_numeral(tmp_path):
    """REGARD_DEMO names the folder of a demo, or REGARD_RUN that of any translator; else a demo is trained."""
    folder = Path(os.environ.get("REGARD_DEMO") or tmp_path / "demo")
    run = Path(os.environ.get("REGARD_RUN") or folder / "model")
    if not run.exists():
        assert regard("demo", "--run", folder).code == 0
    check(load(run), 2000)
