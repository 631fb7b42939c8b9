"""Every way of weighing words, on every kind of answer: shapes, signs, repeatable figures, words that are known."""

import pytest
import torch
from tasks import engine_of
from weighted import QUESTIONS, translator

from regard.answers import show
from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.explain import to_json
from regard.explain.relevance import RELEVANCES
from regard.models import MODELS
from regard.predictor import Predictor
from regard.registry import Choice
from regard.tasks.tagging import TaggingTask

TEXTS, TAGS = ["the cats sleep", "a dog"], ["D N V", "D N"]


@pytest.fixture(params=sorted(RELEVANCES))
def method(request):
    return RELEVANCES.build(Choice(request.param))


@pytest.mark.parametrize(
    "name", ["translator-gru", "translator-transformer", "classifier-convs2s", "language-model-lstm"]
)
def test_a_number_for_each_item_and_word(method, name):
    question = QUESTIONS[name]()
    found = method.of(question)
    assert [one.shape for one in found.words] == [(len(question.items), ids.shape[1]) for _, ids in question.reads]
    assert all(bool(one.isfinite().all()) for one in found.words)
    assert found.total is None or found.total.shape == (len(question.items),)
    assert method.signed or min(float(one.min()) for one in found.words) >= 0


def test_items_do_not_depend_on_each_other(method):
    """Asked for alone, an item has the relevance that it has among others; what is drawn is the same for all."""
    question = translator("transformer")
    alone = type(question)(
        question.model, question.batch.select(torch.tensor([0])), question.columns, torch.tensor([2])
    )
    for whole, part in zip(method.of(question).words, method.of(alone).words, strict=True):
        torch.testing.assert_close(whole[2:3], part)


def test_asking_leaves_the_model_as_it_was(method):
    question = translator("gru")
    before = question.model.nll(question.batch)
    method.of(question)
    assert torch.equal(question.model.nll(question.batch), before)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in question.model.modules())


@pytest.mark.parametrize("pieces", ["before", "after"])
@pytest.mark.parametrize("head", ["linear", "crf"])
def test_tags_of_words_of_several_pieces(method, head, pieces):
    columns = TaggingTask.columns
    rows = [
        Example(line, dict(zip(columns, pair, strict=True))) for line, pair in enumerate(zip(TEXTS, TAGS, strict=True))
    ]
    task = TaggingTask(learn_columns(columns, [rows], Choice("characters", {"size": 290}), shared=True))
    encoder = Choice("recurrent", {"hidden_dim": 4})
    settings = {"dim": 8, "encoder": encoder, "head": Choice(head), "pool_pieces": pieces}
    model = MODELS.build(Choice("tagger", settings), task.vocabularies)
    predictor = Predictor(model, task, engine_of(model, task))
    predictions = predictor.predict(["the cats sleep"])
    name = next(one for one in RELEVANCES if isinstance(method, RELEVANCES[one]))
    (found,) = predictor.explainer.relevance(predictions, name)
    assert found.items == predictions[0].tags
    assert "".join(found.tokens["text"]).replace(" ", "") == "thecatssleep"
    (shown,) = predictor.explainer.with_relevance(predictions, name)
    show([shown])
    assert to_json([shown])["predictions"][0]["explanation"]["method"] == name
