"""Weights that are shares of one and weights that are not: by hand, in every row, and as a page tells them."""

import io
from dataclasses import replace

import pytest
import torch
from networks import build_translator
from rich.console import Console
from tasks import translation_of

from regard.answers import show
from regard.attention import WEIGHTINGS
from regard.explain import to_json
from regard.explain.scale import amount, are_fractions, bounded, largest, legend, scaled
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice
from regard.text import train_tokenizer

NAN = float("nan")


@pytest.mark.parametrize(
    ("rows", "are"),
    [
        ([], True),
        ([[]], True),
        ([[0.25, 0.75], [1, 0]], True),
        ([[0.25, 0.75], [0, 0]], True),  # a row that sees nothing
        ([[0.3333] * 3], True),
        ([[0.0005] * 1900], True),  # rounded each: 1/1900 is 0.000526
        ([[0.6, 0.6]], False),
        ([[0.5, 0.2]], False),
        ([[1.5, -0.5]], False),  # sums to one, and is none
        ([[0.5, 0.5], [0.6, 0.6]], False),
        ([[NAN, 1]], False),
    ],
)
def test_shares_by_hand(rows, are):
    assert are_fractions(rows) == are


@pytest.mark.parametrize("name", sorted(WEIGHTINGS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_weighting_gives_shares_where_it_says_so(name, dtype):
    part = WEIGHTINGS[name]
    attention = build_attention(AttentionSettings(weighting=Choice(name)), 8, 8).to(dtype).eval()
    queries, memory = 3 * torch.randn(1, 5, 8, dtype=dtype), attention.remember(torch.randn(1, 9, 8, dtype=dtype))
    weights = attention(queries, memory, need_weights=True).weights[0].float().tolist()
    if part.normalised:
        assert are_fractions(weights)
    if part.signed:
        assert not are_fractions(weights) and not bounded(weights)


def test_what_the_strongest_colour_stands_for():
    assert (largest([[0.2, 0.4]]), largest([[0.2, -0.4]]), largest([[3, -4, NAN]]), largest([])) == (1.0, 0.4, 4, 1.0)
    assert [scaled(weight, 4.0) for weight in (2.0, -2.0, -8.0, NAN)] == [0.5, -0.5, -1.0, 0.0]
    assert largest([[1.0000001, 0.0]]) == 1.0  # a sum of rounded shares


def test_it_is_said_in_words():
    assert legend([[0.2, 0.9]]) == ""
    assert legend([[0.2, -1.0]]) == "with a bar: below zero"
    assert legend([[0.2, 2.5]]) == "full colour: 2.5"
    assert legend([[0.2, -2.5]]) == "full colour: 2.5, with a bar: below zero"


def test_no_per_cent_of_what_is_no_share():
    assert amount(0.256, True) == "26%"
    assert [amount(weight, False) for weight in (0.256, -0.5, 12.345, 0.0012345)] == [
        "0.256",
        "−0.5",
        "12.3",
        "0.00123",
    ]


# From a model to what a terminal and a page tell: per cents only of what adds up to one


TEXTS = ["a dog sees two old cats", "ein Hund sieht zwei alte Katzen"]


def explained(attention: AttentionSettings):
    """A prediction of an untrained translator whose decoder looks at the source that way."""
    tokenizer = train_tokenizer(Choice("words"), TEXTS)
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=attention)
    model = build_translator(settings, len(tokenizer), len(tokenizer)).eval()
    task = translation_of(tokenizer)
    batch = task.batch(task.encode([task.texts.scored(*TEXTS)]))
    (prediction,) = task.force(model, batch)
    return replace(prediction, explanation=task.explain(model, batch)[0])


@pytest.mark.parametrize(
    ("attention", "shares"),
    [
        (AttentionSettings(), True),
        (AttentionSettings(num_heads=2), True),
        (AttentionSettings(weighting=Choice("sigmoid")), False),
        (AttentionSettings(weighting=Choice("unnormalised")), False),
        (AttentionSettings(span=(Choice("local_predictive", {"radius": 1}),)), False),  # its bell curve takes a part
    ],
    ids=str,
)
def test_per_cents_are_of_shares_alone(attention, shares):
    prediction = explained(attention)
    file = io.StringIO()
    show([prediction], Console(file=file, width=200))
    told = to_json([prediction])["predictions"][0]["explanation"]
    cross = [each["shares"] for each in told["maps"] if each["kind"] == "cross"]
    assert (told["shares"], cross) == (shares, [shares])
    assert all(each["shares"] for each in told["maps"] if each["kind"] != "cross")
    assert ("%" in file.getvalue()) == shares
    weights = [weight for row in prediction.explanation.weights for weight in row]
    assert ("−" in file.getvalue().partition("│")[0].partition("\n")[2].partition("\n")[2]) == (min(weights) < 0)
