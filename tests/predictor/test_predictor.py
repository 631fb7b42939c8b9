"""Texts in, predictions out: in their order, each for itself, with what it looked at."""

import threading
from dataclasses import replace

import pytest
import torch
from networks import build_translator
from tasks import engine_of, translation_of
from torch.testing import assert_close

from regard.attention import recording
from regard.decoding import SEARCHES
from regard.errors import DataError
from regard.experiment import DecodingSettings
from regard.explain import to_json
from regard.models import AttentionSettings
from regard.ops.plain import plain
from regard.predictor import Predictor, batches
from regard.records import EOS
from regard.registry import Choice
from regard.results import Prediction
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "", "two cats", " \u3000", "he reads a very long book about dogs and cats", "yes", "a dog runs"]


BEAM = Choice("beam", {"size": 3, "n_best": 2, "max_extra": 5})


@pytest.fixture
def predictor():
    """Of random weights: what it says is nonsense, but it is the same nonsense each time."""
    return predictor_of(BEAM)


def predictor_of(search, **model):
    tokenizer = train_tokenizer(Choice("characters"), [*TEXTS, "äöü ß"])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads, **model)
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    limits = DecodingSettings(batch_tokens=60, max_source=60)
    return Predictor(model, task, engine_of(model, task, search), settings=limits)


def test_weights_are_arrays_with_labelled_axes(predictor):
    found = predictor.predict(["a dog runs"], explain=True)[0].explanation
    alignment = found.array()
    assert alignment.axes == ("target", "source")
    assert alignment.labels == (found.target_tokens, found.source_tokens)
    assert alignment.values.tolist() == found.weights
    assert {one.kind for one in found.maps} == {"encoder", "decoder", "cross"}
    for each in found.maps:
        values, axes, labels = found.array(each)
        assert axes == ("head", "query", "key")
        assert values.shape == tuple(map(len, labels)) == (2, len(labels[1]), len(labels[2]))


def test_every_text_has_its_answer_in_its_place(predictor):
    found = predictor.predict(TEXTS)
    assert [one.source for one in found] == TEXTS
    for text, one in zip(TEXTS, found, strict=True):
        (alone,) = predictor.predict([text])
        assert (one.text, len(one.alternatives)) == (alone.text, 1 if text.strip() else 0)
        assert_close(one.score, alone.score, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kept", [plain, None], ids=["plain", "recording"])
def test_what_is_said_to_this_thread_alone_keeps_the_work_in_it(predictor, kept, monkeypatch):
    threads: set[str] = set()
    predict = predictor.task.predict

    def noted(model, batch):
        threads.add(threading.current_thread().name)
        return predict(model, batch)

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(batches, "FEWEST_TOKENS", 0)
    monkeypatch.setattr(predictor.task, "predict", noted)
    with recording(predictor.model) if kept is None else kept():
        predictor.predict(TEXTS)
    assert threads == {threading.current_thread().name}
    threads.clear()
    predictor.predict(TEXTS)
    assert threads and threading.current_thread().name not in threads


def test_nothing_says_nothing(predictor):
    assert [one.text for one in predictor.predict(["", " \n"])] == ["", ""]
    assert predictor.predict([]) == []


def test_a_surrogate_is_read_as_the_replacement_character(predictor):
    (one,) = predictor.predict(["a\udcffb"])
    assert one.source == "a\ufffdb"
    one.text.encode("utf-8")


def test_a_text_that_is_too_long_is_told_by_its_number(predictor):
    with pytest.raises(DataError, match=r"source:2: 60 pieces are more than this model takes \(59\)") as caught:
        predictor.predict(["yes", "y" * 60])
    assert "decoding.max_source, which is 60" in str(caught.value)


@pytest.mark.parametrize("search", [Choice("greedy"), BEAM, Choice("sampling")], ids=lambda choice: choice.name)
def test_a_hypothesis_never_outgrows_the_places_that_were_learned(search):
    """It is cut off as by any limit, and takes no neighbour with it; a source as long as that is read."""
    predictor = predictor_of(search, position=Choice("learned", {"max_length": 12}))
    predictor.model.decoders["translate"].norm.bias.data.fill_(9.0)
    predictor.model.heads["translate"].weight.data[EOS] = -torch.ones(8)  # so no end is ever likely
    texts = ["a dog", "yes", "a dog reads"]
    found = predictor.predict(texts, explain=True, safeguards=False)
    written = 11 if search.name == "sampling" else 10  # the last place is that of the end, unless words are drawn
    assert [(len(one.ids), one.finished) for one in found] == [(written, False)] * 3
    assert [len(one.explanation.target_tokens) for one in found] == [written] * 3
    (alone,) = predictor.predict(texts[1:2], safeguards=False)
    assert alone.text == found[1].text


def test_a_source_longer_than_the_places_that_were_learned_is_refused_by_its_number():
    predictor = predictor_of(BEAM, position=Choice("learned", {"max_length": 12}))
    with pytest.raises(DataError, match=r"source:2: 12 pieces are more than this model takes \(11\)") as caught:
        predictor.predict(["yes", "y" * 12])
    assert "max_source" not in str(caught.value)  # raising it would not help


@pytest.mark.parametrize("texts", ["yes", [b"yes"], [1, 2], b"yes"], ids=["one", "bytes", "numbers", "raw"])
def test_anything_but_a_list_of_texts_is_refused(predictor, texts):
    with pytest.raises(TypeError, match=r"a list of texts is needed, not .*; one text: predict\(\[text\]\)"):
        predictor.predict(texts)
    for pair in ((texts, ["ja"]), (["yes"], texts)):
        with pytest.raises(TypeError, match="a list of texts is needed"):
            predictor.score(*pair)


def test_forced_decoding_scores_what_is_given(predictor):
    sources, targets = ["a dog runs", "yes"], ["äöü", "two cats"]
    found = predictor.score(sources, targets)
    assert [one.text for one in found] == targets
    for one, source, target in zip(found, sources, targets, strict=True):
        task, model = predictor.task, predictor.model
        batch = task.batch(task.encode([task.texts.scored(source, target)]))
        with torch.no_grad():
            wanted = -model.nll(batch)[0]
        assert_close(torch.tensor(one.log_probs), wanted)  # float32, in a batch and alone
        assert one.score == pytest.approx(float(wanted.sum()))


def test_unequal_counts_are_told(predictor):
    with pytest.raises(DataError, match="1 texts, but the source has 2"):
        predictor.score(["a", "b"], ["x"])


def test_an_explanation_has_tokens_weights_links_and_maps(predictor):
    found = predictor.predict(["two cats", "yes"], explain=True)
    for one in found:
        told = one.explanation
        assert told.source_tokens == [*one.source, "</s>"]
        weights = torch.tensor(told.weights)
        assert weights.shape == (len(told.target_tokens), len(told.source_tokens))
        assert_close(weights.sum(dim=-1), torch.ones(len(weights)), atol=1e-5, rtol=0)
        best = weights[: len(one.ids), :-1].argmax(dim=-1).tolist()
        assert told.alignment == [(source, target) for target, source in enumerate(best)]
        assert {each.kind for each in told.maps} == {"encoder", "decoder", "cross"}
    assert "<iframe" in found._repr_html_()
    assert found[0].text in str(found)


@pytest.fixture(params=[True, False], ids=["finished", "cut off"])
def answer(request, predictor):
    """Of ids that no tokenizer makes: a byte spells a letter that has an id of its own."""
    target = predictor.task.target
    byte = next(number for number in range(len(target)) if target.pieces([number]) == ["<0x61>"])
    ids = [*target.encode("a"), byte]
    (found,) = predictor.predict(["two cats"])
    log_probs = [-0.5] * (len(ids) + request.param)
    return replace(found, text=target.decode(ids), ids=ids, log_probs=log_probs, finished=request.param)


def test_an_explanation_is_of_the_very_pieces_that_were_written(predictor, answer):
    (one,) = predictor.explainer.with_attention([answer])
    target = predictor.task.target
    assert target.encode(one.text) != one.ids
    assert one.explanation.target_tokens == [*target.pieces(one.ids), *["</s>"] * one.finished]
    count = len(one.log_probs)
    assert (len(one.explanation.target_tokens), len(one.explanation.weights)) == (count, count)
    shapes = {each.kind: torch.tensor(each.weights).shape[1:] for each in one.explanation.maps}
    read = len(one.explanation.source_tokens)
    assert shapes == {"encoder": (read, read), "decoder": (count, count), "cross": (count, read)}
    assert "ids" not in to_json([one])["predictions"][0]
    assert "ids" not in repr(one)


def test_a_prediction_made_by_hand_is_explained_by_its_text(predictor):
    (one,) = predictor.explainer.with_attention([Prediction("two cats", "yes", 0.0)])
    assert one.explanation.target_tokens == ["y", "e", "s", "</s>"]


def test_a_search_knows_texts_by_their_places(predictor):
    """In whichever batch they are; those answered without the model count too."""
    predictor.batch_tokens = 20
    search = SEARCHES.build(BEAM)
    whole = predictor.predict(TEXTS, search=search, safeguards=False)
    found = predictor.predict(TEXTS, search=search.until(lambda: {1, 4, 5}), safeguards=False)
    for place, (one, wanted) in enumerate(zip(found, whole, strict=True)):
        if place in (4, 5):
            assert len(one.log_probs) == 1
        else:
            assert (one.text, one.log_probs) == (wanted.text, wanted.log_probs)
