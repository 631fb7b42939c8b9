"""Another program that searches by itself stands behind the same door as our own searches."""

import pytest
from networks import build_translator
from tasks import engine_of, translation_of

from regard.decoding import SEARCHES, Hypothesis, SearchEngine
from regard.errors import DataError
from regard.models import AttentionSettings
from regard.predictor import Predictor
from regard.registry import Choice
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "two cats", "yes"]


class Mirror:
    """Answers each source with itself, best first, and then with its reverse."""

    width = 1
    max_source = 12

    def answer(self, batch):
        rows = [ids[mask].tolist()[:-1] for ids, mask in zip(*batch.sequences("source"), strict=True)]
        return [[Hypothesis(ids, -1.0, [], True), Hypothesis(ids[::-1], -2.0, [], True)] for ids in rows]


@pytest.fixture
def parts():
    tokenizer = train_tokenizer(Choice("characters"), TEXTS)
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    return build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)


def test_an_engine_of_another_program_answers(parts):
    found = Predictor(*parts, Mirror()).predict([*TEXTS, ""], explain=True)
    assert [str(one) for one in found] == [*TEXTS, ""]
    assert [one.alternatives[0].text for one in found[:-1]] == [text[::-1] for text in TEXTS]
    assert found[0].explanation.target_tokens[:-1] == list(TEXTS[0])


def test_an_engine_may_take_less_than_the_model(parts):
    with pytest.raises(DataError, match=r"13 pieces are more than this model takes \(11\)"):
        Predictor(*parts, Mirror()).predict(["a" * 13])
    with pytest.raises(DataError, match="source:1: is missing in an example"):
        Predictor(*parts, Mirror()).predict([{"text": "a"}])


def test_a_search_of_the_call_stands_in_for_the_engine(parts):
    predictor = Predictor(*parts, Mirror())
    greedy = SEARCHES.build(Choice("greedy", {"max_extra": 5}))
    wanted = Predictor(*parts, engine_of(*parts, Choice("greedy", {"max_extra": 5}))).predict(TEXTS)
    assert [one.text for one in predictor.predict(TEXTS, search=greedy)] == [one.text for one in wanted]
    assert [one.text for one in predictor.predict(TEXTS)] == TEXTS  # nothing of it is kept


def test_features_go_with_a_search_of_the_call(parts):
    from regard.decoding import FEATURES

    model, task = parts
    feature = FEATURES.build(Choice("length", {"weight": 3.0}))
    search = SEARCHES.build(Choice("greedy", {"max_extra": 5}))
    wanted = Predictor(model, task, SearchEngine(model, search, [feature])).predict(TEXTS)
    found = Predictor(model, task, Mirror(), features=[feature]).predict(TEXTS, search=search)
    assert [(one.text, one.score) for one in found] == [(one.text, one.score) for one in wanted]
