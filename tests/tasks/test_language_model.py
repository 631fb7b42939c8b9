"""The task of language models: figures by hand, one loss whichever way a text is cut, and how a prompt goes on."""

import math
from collections import Counter

import pytest
import torch
from language import Blind, model_of, near_sighted, short, task_of
from tasks import engine_of, language_model_of, predictor_of
from torch.testing import assert_close

from regard.decoding import FEATURES, SEARCHES
from regard.errors import ConfigError, DataError
from regard.heads.linear import LinearHead
from regard.models.language_model import LanguageModel
from regard.records import EOS
from regard.registry import Choice
from regard.runs.validation import Validation
from regard.text import train_tokenizer

TEXTS = ["to be, or not to be", "", "that is the question", "a", "", "ay, there is the rub"]
FULL = [text for text in TEXTS if text]


def evaluated(model, task, texts, tokens=50):
    engine = engine_of(model, task)
    return Validation(model, task, engine, {"text": texts}, task.likelihoods(), batch_tokens=tokens)(lambda: False)


def test_the_perplexity_of_a_unigram_model_by_hand():
    task = task_of(TEXTS, window=7)
    pieces = [piece for text in TEXTS for piece in [*text, "end"]]
    shares = {piece: count / len(pieces) for piece, count in Counter(pieces).items()}
    weight = torch.full((len(task.text), 1), -1e3, dtype=torch.float64)
    for piece, share in shares.items():
        (number,) = [EOS] if piece == "end" else task.text.encode(piece)
        weight[number] = math.log(share)
    model = LanguageModel(Blind(), LinearHead(1, len(task.text), torch.nn.Parameter(weight)))
    entropy = -sum(share * math.log2(share) for share in shares.values())
    words = sum(len(text.split()) + 1 for text in TEXTS)
    found = evaluated(model, task, TEXTS)
    assert found == {
        "loss": pytest.approx(entropy * math.log(2)),
        "perplexity": pytest.approx(2**entropy),
        "word_perplexity": pytest.approx(2 ** (entropy * len(pieces) / words)),
        "bits_per_character": pytest.approx(entropy),
    }


@pytest.mark.parametrize("tokens", [1, 40, 1000])
def test_windows_of_enough_context_lose_what_the_whole_text_loses(tokens):
    model, reach = near_sighted(len(task_of(TEXTS).text))
    (whole,) = task_of(TEXTS, window=1000).held({"text": TEXTS}, 1000)
    losses = model.nll(whole)[whole.columns["counted"]]
    for window, context in ((reach + 1, reach), (17, reach), (17, 16), (60, 31)):
        task = task_of(TEXTS, window=window, context=context)
        batches = task.held({"text": TEXTS}, tokens)
        found = torch.cat([model.nll(batch)[batch.columns["counted"]] for batch in batches])
        assert_close(found, losses)
    short = task_of(TEXTS, window=reach, context=reach - 1)
    found = torch.cat([model.nll(batch)[batch.columns["counted"]] for batch in short.held({"text": TEXTS}, tokens)])
    assert not torch.allclose(found, losses)  # one piece less of context is too few, so the equality says something


@pytest.mark.parametrize("tokens", [1, 1000])
def test_a_loss_is_forced_decoding_line_by_line(tokens):
    task = task_of(TEXTS)
    model = model_of("recurrent", len(task.text))
    found = evaluated(model, task, FULL, tokens)
    scored = predictor_of(model, task).score([""] * len(FULL), FULL)
    total, count = -sum(one.score for one in scored), sum(len(text) + 1 for text in FULL)
    assert found["loss"] == pytest.approx(total / count)
    assert found["bits_per_character"] == pytest.approx(total / count / math.log(2))
    assert [len(one.log_probs) for one in scored] == [len(text) + 1 for text in FULL]
    assert [one.text for one in scored] == FULL


def test_what_follows_on_a_prompt_is_scored_without_the_prompt():
    task = task_of(TEXTS)
    predictor = predictor_of(model_of("transformer", len(task.text)), task)
    (whole,), (rest,) = predictor.score([""], ["to be"]), predictor.score(["to"], [" be"])
    assert_close(torch.tensor(rest.log_probs), torch.tensor(whole.log_probs[2:]))
    assert (rest.source, rest.text) == ("to", " be")


@pytest.mark.parametrize("search", ["greedy", "beam", "sampling"])
def test_every_search_goes_on_with_prompts_of_any_length_each_for_itself(search):
    task = task_of(TEXTS)
    predictor = predictor_of(model_of("transformer", len(task.text)), task, short(search))
    prompts = ["to be", "", "ay", "or", "to be, or not", ""]
    together = predictor.predict(prompts)
    assert [one.source for one in together] == prompts
    for prompt, found in zip(prompts, together, strict=True):
        (alone,) = predictor.predict([prompt])
        assert (alone.ids, alone.finished) == (found.ids, found.finished)
        assert alone.log_probs == pytest.approx(found.log_probs)
    forced = predictor.score([one.source for one in together], [one.text for one in together])
    for one, other in zip(together, forced, strict=True):
        if one.ids == task.text.encode(one.text):  # pieces that no text is cut into are not written the same again
            assert_close(torch.tensor(one.log_probs), torch.tensor(other.log_probs[: len(one.log_probs)]))


def test_samples_differ_and_the_n_best_are_ranked():
    task, search = task_of(TEXTS), Choice("sampling", {"max_extra": 8, "n_best": 4})
    (found,) = predictor_of(model_of("recurrent", len(task.text)), task, search).predict([""])
    every = [found, *found.alternatives]
    assert len({tuple(one.ids) for one in every}) == 4
    assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)


def test_no_text_outgrows_the_places_that_were_learned():
    """A prompt of n pieces goes on with those that are left; one that leaves no room is refused."""
    task, search = task_of(TEXTS), Choice("sampling", {"max_extra": 30, "min_length": 30})
    places = Choice("learned", {"max_length": 9})
    predictor = predictor_of(model_of("transformer", len(task.text), position=places), task, search)
    found = predictor.predict(["to be", "", "to be a"], explain=True)
    assert [(len(one.ids), one.finished) for one in found] == [(3, False), (8, False), (1, False)]
    with pytest.raises(DataError, match=r"8 pieces are more than this model takes \(7\)"):
        predictor.predict(["to be or"])


def test_a_prompt_of_words_goes_on_with_a_word():
    tokenizer = train_tokenizer(Choice("words"), TEXTS)
    task = language_model_of(tokenizer)
    predictor = predictor_of(model_of("recurrent", len(tokenizer)), task)
    (whole,), (rest,) = predictor.score([""], ["to be"]), predictor.score(["to"], ["be"])
    assert_close(torch.tensor(rest.log_probs), torch.tensor(whole.log_probs[1:]))


def test_an_explanation_shows_what_each_piece_looked_at():
    task = task_of(TEXTS)
    (found,) = predictor_of(model_of("transformer", len(task.text)), task, short("greedy")).predict(
        ["to b"], explain=True
    )
    told = found.explanation
    assert told.source_tokens == [] and told.target_tokens[:4] == ["t", "o", " ", "b"]
    length = len(told.target_tokens)
    assert len(told.target_tokens) == 4 + len(found.ids) + found.finished
    assert [(one.kind, one.layer, len(one.weights)) for one in told.maps] == [("decoder", 0, 2), ("decoder", 1, 2)]
    for head in told.maps[0].weights:
        assert [len(row) for row in head] == [length] * length
        assert [sum(row) for row in head] == pytest.approx([1.0] * length, abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"context": 3}, "give task.window"),
        ({"window": 3, "context": 3}, "less than the window of 3"),
    ],
)
def test_windows_that_cannot_be_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        task_of(TEXTS, **settings)


def test_features_that_look_at_a_source_are_refused():
    features = [FEATURES.build(Choice("coverage"))]
    with pytest.raises(ConfigError, match=r"decoding\.features"):
        task_of(TEXTS).engine(None, SEARCHES.build(Choice("greedy")), features)
