"""Hops of structured self-attention look at different words once their overlap is penalised, and know the label."""

import random

import torch
from torch import Tensor

from regard.attention import recording
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.models import MODELS
from regard.objectives import Context, PenalisedObjective, build_penalties
from regard.objectives.likelihood import LikelihoodObjective
from regard.registry import Choice
from regard.tasks.classification import ClassificationTask

WORDS, SIGNS, LENGTH, ROWS, UPDATES = [f"w{number}" for number in range(8)], ("good", "bad"), 8, 40, 60
MODEL = {
    "dim": 16,
    "dropout": 0.0,
    "position": None,
    "encoder": Choice("recurrent", {"hidden_dim": 8}),
    "pooling": Choice("structured", {"hops": 3, "hidden_dim": 8}),
}


def examples() -> dict[str, list[str]]:
    """Texts of eight words, of which one tells the label."""
    draw = random.Random(5)
    labels = [draw.choice(SIGNS) for _ in range(ROWS)]
    texts = [draw.choices(WORDS, k=LENGTH) for _ in labels]
    for text, label in zip(texts, labels, strict=True):
        text[draw.randrange(LENGTH)] = label
    return {"text": [" ".join(text) for text in texts], "label": labels}


def trained(penalties: list[Choice], seed: int) -> Tensor:
    """Mean overlap of two hops, the product of their rows of A, after training to know every label."""
    given = examples()
    rows = [Example(1, {"text": text, "label": label}) for text, label in zip(*given.values(), strict=True)]
    columns = learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True)
    torch.manual_seed(seed)
    model, task = MODELS.build(Choice("classifier", MODEL), columns), ClassificationTask(columns)
    objective = PenalisedObjective(LikelihoodObjective(Context(model), label_smoothing=0.0), build_penalties(penalties))
    (batch,) = task.held(given, 10_000)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(UPDATES):
        loss = objective.loss(batch, "model")
        (loss.sum / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.inference_mode(), recording(model) as records:
        log_probs = model.log_probs(batch)
    assert bool((log_probs.argmax(dim=-1) == batch.columns["label"]).all())
    weights = records["pooling.attention"].answers[0].weights  # (batch, hop, word)
    products = weights @ weights.mT
    return products[:, ~torch.eye(3, dtype=torch.bool)].mean()


def test_the_penalty_halves_the_overlap_of_hops(learning_seed):
    alone = trained([], learning_seed)
    apart = trained([Choice("overlap", {"between": "hops", "weight": 0.5})], learning_seed)
    assert apart < 0.5 * alone, (alone, apart)
