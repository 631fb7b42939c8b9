"""From a model to what a terminal and a page tell: per cents only of what adds up to one."""

import io
from dataclasses import replace

import pytest
from networks import build_translator
from rich.console import Console
from tasks import translation_of

from regard.answers import show
from regard.explain import to_json
from regard.models import AttentionSettings
from regard.registry import Choice
from regard.text import train_tokenizer

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
