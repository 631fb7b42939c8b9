"""Hierarchical classifiers against loops over sentences, and where both levels looked."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.columns import Columns, learn_columns
from regard.data.examples import Example
from regard.errors import ConfigError
from regard.layers.by_sentence import SENTENCES
from regard.models import MODELS
from regard.models.hierarchical import BOTH, Hierarchical
from regard.records import Batch, Sequences
from regard.registry import Choice
from regard.tasks.classification import ClassificationTask

TEXTS = ["a good film. so good! see it", "bad", "", "it is long. it is bad. so bad. see it not. so long"]
SPELT = [["a good film.", "so good!", "see it"], ["bad"], ["</s>"], ["it is long.", "it is bad.", "so bad."]]
SMALL = {"dim": 6, "max_sentences": 3, "max_words": 6, "dropout": 0.0}
GRU = Choice("recurrent", {"hidden_dim": 4})
ASKED = Choice("attention", {"hidden_dim": 5})


@pytest.fixture(scope="module")
def columns() -> Columns:
    rows = [Example(number, {"text": text, "label": "ab"[number % 2]}) for number, text in enumerate(TEXTS) if text]
    return learn_columns(ClassificationTask.columns, [rows], Choice("words"), shared=True)


def build(columns: Columns, **settings: object) -> Hierarchical:
    levels = {"encoder": GRU, "sentence_encoder": GRU, "pooling": ASKED, "sentence_pooling": ASKED}
    model = MODELS.build(Choice("hierarchical", {**SMALL, **levels, **settings}), columns).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.requires_grad_(False)


def batch_of(columns: Columns, texts: list[str]) -> Batch:
    task = ClassificationTask(columns)
    return task.batch(task.encode([{"text": text, "label": "a"} for text in texts]))


def row(vectors: Tensor) -> Sequences:
    """(n, dim) as a batch of one."""
    return Sequences(vectors.unsqueeze(0), torch.ones(1, len(vectors), dtype=torch.bool))


def by_a_loop(model: Hierarchical, columns: Columns, sentences: list[str]) -> Tensor:
    """Each sentence alone, then their vectors; the end symbol closes the last one of a text that is read to its end."""
    text, vectors = columns["text"], []
    read_to_the_end = sentences != SPELT[3]
    for number, sentence in enumerate(sentences):
        ids = text.encode(sentence) if sentence != "</s>" else []
        ids = [*ids, 2] if read_to_the_end and number == len(sentences) - 1 else ids
        words = model.encoder(row(model.embedder(torch.tensor([ids]))[0][0]))
        vectors.append(model.pooling(words.states, words.mask)[0])
    above = model.sentence_encoder(row(torch.stack(vectors)))
    scores = model.to_class(model.sentence_pooling(above.states, above.mask))
    return scores.log_softmax(dim=-1)[0]


@pytest.mark.parametrize("name", ["attention", "mean", "max"])
def test_words_then_sentences_by_a_loop(name, columns, assert_agrees):
    settings = {} if name == "attention" else {"pooling": Choice(name), "sentence_pooling": Choice(name)}
    model = build(columns, **settings)
    found = model.log_probs(batch_of(columns, TEXTS))
    for text, sentences in enumerate(SPELT):
        assert_agrees("A26", found[text], by_a_loop(model, columns, sentences), tolerance=1e-10)


def test_batch_mates_do_not_matter(columns):
    model = build(columns)
    together = model.log_probs(batch_of(columns, TEXTS))
    assert_close(together, torch.cat([model.log_probs(batch_of(columns, [text])) for text in TEXTS]))


def test_both_levels_are_explained(columns):
    model, task = build(columns), ClassificationTask(columns)
    for text, found in enumerate(task.explain(model, batch_of(columns, TEXTS))):
        maps = {one.name: one for one in found.maps}
        assert list(found.columns[SENTENCES].texts) == SPELT[text]
        above = maps["sentence_pooling.attention"].weights[0][0]
        words, both = (maps[name].weights[0][0] for name in ("pooling.attention", BOTH))
        assert (len(above), len(words)) == (len(SPELT[text]), len(found.source_tokens))
        assert sum(above) == pytest.approx(1.0, abs=1e-3)
        assert found.weights[0] == both
        place = 0
        for number, sentence in enumerate(SPELT[text]):
            ids = len(columns["text"].encode(sentence)) if sentence != "</s>" else 0
            end = place + ids + (text != 3 and number == len(SPELT[text]) - 1)
            assert sum(words[place:end]) == pytest.approx(1.0, abs=1e-3)  # of each sentence; rounded
            assert both[place:end] == pytest.approx([one * above[number] for one in words[place:end]], abs=1e-3)
            place = end
        assert not any(words[place:]), "what is not read is not looked at"


def test_words_that_look_at_words_stay_within_their_sentence(columns):
    block = Choice("transformer", {"num_layers": 1, "feedforward_dim": 4})
    model, task = build(columns, dim=4, encoder=block), ClassificationTask(columns)
    found = task.explain(model, batch_of(columns, [TEXTS[0]]))[0]
    (itself,) = (one for one in found.maps if one.kind == "encoder")
    weights = torch.tensor(itself.weights)
    assert weights.shape == (4, 10, 10)  # heads, words
    sentence = torch.tensor([0] * 4 + [1] * 3 + [2] * 3)
    assert bool(((weights > 0) == (sentence[:, None] == sentence)).all())
    assert_close(weights.sum(dim=-1), torch.ones(4, 10), rtol=0, atol=1e-3)


def test_levels_without_attention_have_no_map(columns):
    model = build(columns, pooling=Choice("mean"), sentence_pooling=Choice("max"))
    found = ClassificationTask(columns).explain(model, batch_of(columns, TEXTS))[0]
    assert (found.maps, found.weights) == ([], [])


@pytest.mark.parametrize(("level", "left"), [("encoder", SENTENCES), ("sentence_encoder", "text")])
def test_a_level_whose_states_are_no_words_has_no_map(level, left, columns):
    longer = Choice("bytenet", {"ratio": 1.5, "hidden_dim": 4, "dilations": [1], "num_layers": 1})
    model = build(columns, **{level: longer})
    for found in ClassificationTask(columns).explain(model, batch_of(columns, TEXTS)):
        assert [one.keys for one in found.maps] == [left]


def test_sentences_longer_than_the_positions_are_refused(columns):
    position = Choice("learned", {"max_length": 4})
    with pytest.raises(ConfigError, match=r"max_words: is 6, but model\.position\.max_length is 4"):
        build(columns, position=position)


def test_words_that_are_not_known_are_told_in_their_sentence():
    rows = [Example(number, {"text": "see it. so good. so good.", "label": "ab"[number % 2]}) for number in (1, 2)]
    columns = learn_columns(ClassificationTask.columns, [rows], Choice("uncased_words"), shared=True)
    batch = batch_of(columns, ["see it. Tarkovsky so good. Nostalghia"])
    (found,) = ClassificationTask(columns).explain(build(columns), batch)
    assert list(found.columns[SENTENCES].texts) == ["see it.", "<unk> so good.", "<unk>"]


def test_several_questions_count_by_their_mean(columns):
    hops = {name: Choice("structured", {"hops": 3, "hidden_dim": 4}) for name in ("pooling", "sentence_pooling")}
    (found,) = ClassificationTask(columns).explain(build(columns, **hops), batch_of(columns, [TEXTS[0]]))
    maps = {one.name: torch.tensor(one.weights[0]) for one in found.maps}
    words, above = (maps[f"{name}.attention"].mean(dim=0) for name in hops)  # of three hops each
    sentences = [len(columns["text"].encode(sentence)) for sentence in SPELT[0]]
    factor = above.repeat_interleave(torch.tensor([*sentences[:-1], sentences[-1] + 1]))  # the end symbol, too
    assert_close(maps[BOTH][0], words * factor, rtol=0, atol=1e-3)  # rounded
