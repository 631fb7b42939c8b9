"""Bidirectional language models: neither way knows what it predicts, and each is a language model of its own."""

import pytest
import torch
from language import task_of
from networks import columns_of
from torch import tensor
from torch.testing import assert_close

from regard.decoding import GreedySearch
from regard.errors import ConfigError
from regard.layers.recurrent import RECURRENT
from regard.models import MODELS, ROUTE
from regard.models.bidirectional_language_model import BidirectionalLanguageModel
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.tasks.language_model import COUNTED

VOCAB = 13
TEXTS = [[4, 5, 6, 9, EOS], [7, 8, 9, 10, 11, 4, EOS], [5, EOS]]


def batch_of(texts, given=0):
    longest = max(map(len, texts))
    items = tensor([text + [PAD] * (longest - len(text)) for text in texts])
    mask = items != PAD
    columns = {"text": Sequences(items, mask), COUNTED: mask & (torch.arange(longest) >= given)}
    return Batch(columns, ROUTE, torch.arange(len(texts)), int(columns[COUNTED].sum()))


def build(cell="lstm", vocab=VOCAB, **settings) -> BidirectionalLanguageModel:
    torch.manual_seed(3)
    given = {"dim": 6, "cell": Choice(cell), "num_layers": 2, "dropout": 0.0, **settings}
    model = MODELS.build(Choice("bidirectional_language_model", given), columns_of(text=vocab))
    assert isinstance(model, BidirectionalLanguageModel)
    return model.double().eval()


def one_way(model, way, text):
    """Nats of each piece of a text given those before it, read by one layer above the other, piece by piece."""
    vectors = [way.start, *model.embedder(tensor([text]))[0][0]]
    pasts, nats = [None] * len(way.layers), []
    for vector, piece in zip(vectors, text, strict=False):
        state = vector.view(1, 1, -1)
        for number, layer in enumerate(way.layers):
            written, pasts[number] = layer(state, None, pasts[number])
            state = written + state if number else written
        nats.append(-(state[0, 0] @ model.head.weight.T).log_softmax(dim=-1)[piece])
    return torch.stack(nats)


@pytest.mark.parametrize("cell", RECURRENT)
@torch.no_grad()
def test_losses_are_the_mean_of_two_language_models(cell):
    model = build(cell)
    found = model.nll(batch_of(TEXTS))
    for row, text in zip(found, TEXTS, strict=True):
        ahead = one_way(model, model.reader.forwards, text)
        back = one_way(model, model.reader.backwards, text[::-1]).flip(0)
        assert_close(row[: len(text)], (ahead + back) / 2)
        assert bool((row[len(text) :] == 0).all())


@pytest.mark.parametrize("cell", RECURRENT)
@torch.no_grad()
def test_no_state_knows_the_piece_it_predicts_bitwise(cell):
    """From the left it knows none that follows either, from the right none before."""
    model, text, changed = build(cell), TEXTS[1], [*TEXTS[1][:3], 12, *TEXTS[1][4:]]
    states = [model.reader.before(model._embedded(batch_of([one]).sequences("text"))) for one in (text, changed)]
    (ahead, back), (ahead_changed, back_changed) = states
    assert torch.equal(ahead[:, :4], ahead_changed[:, :4])
    assert torch.equal(back[:, 3:], back_changed[:, 3:])
    assert not torch.equal(ahead[:, 4:], ahead_changed[:, 4:])
    assert not torch.equal(back[:, :3], back_changed[:, :3])


@torch.no_grad()
def test_pieces_that_are_read_only_have_no_loss():
    model = build()
    some, losses = model.nll(batch_of(TEXTS, given=2)), model.nll(batch_of(TEXTS))
    assert bool((some[:, :2] == 0).all())
    assert_close(some[:, 2:], losses[:, 2:])


@pytest.mark.parametrize("cell", RECURRENT)
@torch.no_grad()
def test_one_step_equals_all_steps_behind_any_prompt(cell):
    model, batch = build(cell), batch_of(TEXTS[:2])
    wanted = model.head.log_probs(model.decode(batch)[0], None)
    items = batch.sequences("text").items[:, :5]
    for length in range(5):
        read = Sequences(items[:, :length], torch.ones(2, length, dtype=torch.bool))
        prompt = {"text": read, COUNTED: torch.zeros(2, length, dtype=torch.bool)}
        state, ids = model.start(Batch(prompt, ROUTE, torch.arange(2), 0)), torch.full((2, 1), BOS)
        for place in range(length, 5):
            step, state = model.step(ids, state)
            assert_close(step.log_probs, wanted[:, place])
            ids = items[:, place : place + 1]


@torch.no_grad()
def test_selected_rows_go_on_as_they_were():
    model, prompts, rows = build(), batch_of([text[:2] for text in TEXTS[:2]], given=2), tensor([1, 0, 0, 1])
    step, after = model.step(torch.full((2, 1), BOS), model.start(prompts))
    repeated, later = model.step(torch.full((4, 1), BOS), model.start(prompts).select(rows))
    assert_close(repeated.log_probs, step.log_probs[rows])
    more = tensor([[6], [7]])
    assert_close(model.step(more[rows], later)[0].log_probs, model.step(more, after)[0].log_probs[rows])


def test_it_writes_as_a_language_model():
    task = task_of(["abcdef"])
    model = build(vocab=len(task.text))
    batch = task.batch(task.encode([{"text": "abc"}, {"text": "b"}]))
    predictions = task.predict(task.engine(model, GreedySearch(max_extra=3)), batch)
    assert [one.source for one in predictions] == ["abc", "b"]


def test_every_parameter_learns():
    model = build(tied="none").train()
    model.nll(batch_of(TEXTS)).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_a_head_that_copies_is_refused():
    with pytest.raises(ConfigError, match=r"model\.head: copies from a source"):
        build(head=Choice("pointer"))
