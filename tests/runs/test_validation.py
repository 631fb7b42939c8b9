"""What a validation tells: the loss by hand, metrics of what the model writes, and nothing when it is told to stop."""

import math

import pytest
import torch
from networks import build_translator
from tasks import engine_of, translation_of

from regard.evaluation import METRICS
from regard.models import AttentionSettings
from regard.registry import Choice
from regard.runs.validation import Validation
from regard.tasks.task import measure_of
from regard.text import train_tokenizer

PAIRS = {"source": ["a dog", "two old cats", "yes"], "target": ["ein Hund", "zwei alte Katzen", "ja"]}


@pytest.fixture
def model_and_task():
    tokenizer = train_tokenizer(Choice("characters"), [*PAIRS["source"], *PAIRS["target"]])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    model = build_translator(settings, len(tokenizer), len(tokenizer)).eval()
    return model, translation_of(tokenizer)


@pytest.mark.parametrize("batch_tokens", [1, 1000])
def test_figures_do_not_depend_on_the_batches(model_and_task, batch_tokens):
    model, task = model_and_task
    names, engine = ("bleu", "chrf", "perplexity", "loss"), engine_of(model, task)
    measures = [measure_of(task, name) for name in names]
    validation = Validation(model, task, engine, PAIRS, measures, batch_tokens=batch_tokens)
    found = validation(lambda: False)
    total = count = 0.0
    texts = []
    for source, target in zip(*PAIRS.values(), strict=True):
        batch = task.batch(task.encode([task.texts.scored(source, target)]))
        with torch.no_grad():
            total += float(model.nll(batch).sum())
            texts.append(task.predict(engine, batch)[0].text)
        count += batch.count
    assert set(found) == set(names)
    assert found["loss"] == pytest.approx(total / count, rel=1e-6)
    assert found["perplexity"] == pytest.approx(math.exp(total / count), rel=1e-5)
    for name in ("bleu", "chrf"):
        assert found[name] == METRICS.build(Choice(name)).score(texts, PAIRS["target"]).value


def test_it_stops_between_two_batches(model_and_task):
    model, task = model_and_task
    asked = []
    validation = Validation(model, task, engine_of(model, task), PAIRS, task.likelihoods(), batch_tokens=1)
    assert validation(lambda: asked.append(1) or len(asked) == 2) == {}
    assert len(asked) == 2


def test_one_answer_is_said_where_a_measure_asks_for_it(model_and_task):
    model, task = model_and_task
    for measures, count in (([measure_of(task, "bleu")], 1), (task.likelihoods(), 0)):
        said = []
        engine = engine_of(model, task)
        Validation(model, task, engine, PAIRS, measures, batch_tokens=1000, say=said.append)(lambda: False)
        assert [line.splitlines()[0].strip() for line in said] == PAIRS["source"][:count]


def test_an_answer_is_said_with_all_that_it_is_made_from(model_and_task, monkeypatch):
    model, task = model_and_task
    engine, said, examples = engine_of(model, task), [], {"passage": ["A man met us.", "It rains.", "No."], **PAIRS}
    monkeypatch.setattr(task, "inputs", ("passage", "source"))
    Validation(model, task, engine, examples, [measure_of(task, "bleu")], batch_tokens=1000, say=said.append)(
        lambda: False
    )
    given = [[line.strip() for line in one.splitlines()[:-1]] for one in said]
    assert given == [["A man met us.", "a dog"]]
