"""Masked language models: their loss by the whole table of torch, their fillings by trying all."""

from itertools import product

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from regard.data.columns.masked_text import MaskedTextColumn
from regard.data.transforms.masking import MASKED_PIECES
from regard.decoding import SEARCHES
from regard.errors import ConfigError
from regard.models import MODELS
from regard.models.masked_language_model import MaskedLanguageModel
from regard.pieces import PAD, SPECIALS
from regard.predictor import Predictor
from regard.registry import Choice
from regard.tasks import TASKS
from regard.tasks.masked_language_model import MaskedLanguageModelTask

TEXTS = ["ab ba", "abba", "b"]
SMALL = {
    "dim": 8,
    "dropout": 0.0,
    "encoder": Choice("transformer", {"num_layers": 1, "feedforward_dim": 8, "feedforward": Choice("gelu")}),
}


@pytest.fixture
def task() -> MaskedLanguageModelTask:
    column = MaskedTextColumn.learn(TEXTS, Choice("characters"))
    return TASKS.build(Choice("masked_language_model", {"mask_probability": 0.5}), {"text": column})


@pytest.fixture
def model(task: MaskedLanguageModelTask) -> MaskedLanguageModel:
    torch.manual_seed(3)
    made = MODELS.build(Choice("masked_language_model", SMALL), task.vocabularies).double().eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def test_loss_is_that_of_masked_places_alone(task, model, assert_agrees):
    (batch,) = task.held({"text": TEXTS}, 100)
    answers = batch.columns[MASKED_PIECES]
    states = model.states(batch.sequences("text"))
    hidden = model.head.norm(functional.gelu(model.head.dense(states)))
    logits = hidden @ model.embedder.table.T + model.head.words.bias
    wanted = functional.cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=PAD, reduction="none")
    assert_agrees("E04", model.nll(batch), wanted.view(answers.shape))
    assert batch.count == int(model.counted(batch).sum()) == int((answers != PAD).sum()) > 0


def test_a_batch_without_masks_has_a_loss_of_zero(task, model):
    batch = task.batch(task.encode([{"text": "ab"}]))
    losses = model.nll(batch)
    losses.sum().backward()
    assert batch.count == 0 and float(losses.detach().sum()) == 0


def test_what_is_judged_is_masked_the_same_way_each_time(task):
    (one,), (two,) = (task.held({"text": TEXTS}, 100) for _ in range(2))
    assert torch.equal(one.columns[MASKED_PIECES], two.columns[MASKED_PIECES])


def test_the_best_fillings_are_those_of_all_that_there_are(task, model):
    engine = task.engine(model, SEARCHES.build(Choice("beam", {"size": 5})))
    batch = task.batch(task.encode([{"text": "a<mask>b<mask>"}, {"text": "ab"}]))
    filled, whole = engine.answer(batch)
    holes = batch.sequences("text").items == task.mask
    log_probs = model.fill(batch, holes)
    words = range(len(SPECIALS), task.mask)
    scores = {(a, b): (log_probs[0, a] + log_probs[1, b]).item() for a, b in product(words, words)}
    best = sorted(scores, key=lambda pair: -scores[pair])[:5]
    assert [(one.ids[2], one.ids[4]) for one in filled] == best
    assert_close([one.score for one in filled], [scores[pair] for pair in best])
    assert whole[0].score == 0 and task.text.decode(whole[0].ids) == "ab"


def test_shares_of_more_than_all_are_refused(task):
    with pytest.raises(ConfigError, match=r"task\.random.*is 0\.3, and task\.masked is 0\.8"):
        TASKS.build(Choice("masked_language_model", {"random": 0.3}), {"text": task.text})


def test_an_answer_is_as_sure_as_all_its_holes(task, model):
    predictor = Predictor(model, task, task.engine(model, SEARCHES.build(Choice("beam"))))
    (found,) = predictor.predict(["a<mask>b<mask>"])
    batch = task.batch(task.encode([{"text": "a<mask>b<mask>"}]))
    log_probs = model.fill(batch, batch.sequences("text").items == task.mask)
    given = [log_probs[hole, found.ids[place]].exp().item() for hole, place in enumerate((2, 4))]
    assert_close(found.item_probabilities(), given)
    assert_close(found.confidence, sum(given) / 2)
