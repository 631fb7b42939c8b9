"""Small networks of every architecture, with an example each, for what weighs words."""

from typing import Any

import torch
from networks import columns_of

from regard.explain.relevance import Question
from regard.models import MODELS, Model
from regard.records import EOS, Batch, Sequences
from regard.registry import Choice

VOCAB, CLASSES, DIM = 13, 3, 8
LAYERS = {"num_layers": 2}
ENCODERS = {
    "transformer": Choice("transformer", {**LAYERS, "feedforward_dim": 12}),
    "transformer-post": Choice("transformer", {**LAYERS, "feedforward_dim": 12, "norm": "post"}),
    "convs2s": Choice("convolutional", {**LAYERS, "hidden_dim": 8}),
    "gru": Choice("recurrent", {"cell": "gru", "hidden_dim": 4}),
    "lstm": Choice("recurrent", {"cell": "lstm", "hidden_dim": 4}),
}
DECODERS = {**ENCODERS, "gru": Choice("recurrent", {"hidden_dim": 8}), "lstm": Choice("recurrent", {"cell": "lstm"})}


def sequences(*ids: int) -> Sequences:
    items = torch.tensor([[*ids, EOS]])
    return Sequences(items, torch.ones_like(items, dtype=torch.bool))


def example(**columns: Any) -> Batch:
    return Batch(columns, "translate", torch.arange(1), 1)


def translator(name: str) -> Question:
    """A translator in float64 and an example of five words and four."""
    settings = {"dim": DIM, "encoder": ENCODERS[name], "decoder": DECODERS[name]}
    batch = example(source=sequences(5, 6, 7, 8), target=sequences(4, 9, 6))
    return asked("translator", settings, batch, ("source", "target"), source=VOCAB, target=VOCAB)


def classifier(name: str) -> Question:
    settings = {"dim": DIM, "encoder": ENCODERS[name]}
    batch = example(text=sequences(5, 6, 7, 8), label=torch.tensor([1]))
    return asked("classifier", settings, batch, ("text",), text=VOCAB, label=CLASSES)


def language_model(name: str) -> Question:
    return asked(
        "language_model",
        {"dim": DIM, "decoder": DECODERS[name]},
        example(text=sequences(5, 6, 7)),
        ("text",),
        text=VOCAB,
    )


def asked(row: str, settings: dict[str, Any], batch: Batch, columns: tuple[str, ...], **sizes: int) -> Question:
    model: Model = MODELS.build(Choice(row, settings), columns_of(**sizes))
    return Question(model.double().eval(), batch, columns)


QUESTIONS = {
    **{f"translator-{name}": lambda name=name: translator(name) for name in ENCODERS},
    **{f"classifier-{name}": lambda name=name: classifier(name) for name in ENCODERS},
    **{f"language-model-{name}": lambda name=name: language_model(name) for name in ENCODERS},
}
