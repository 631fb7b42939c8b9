"""Causal classifiers: a language model that has read a text, and a class by what it has read at the end."""

import pytest
import torch
from language import model_of, small
from networks import columns_of
from torch import tensor
from torch.testing import assert_close

from regard.decoders import DECODERS
from regard.errors import ConfigError
from regard.models import MODELS, ROUTE, AttentionSettings
from regard.models.causal_classifier import CausalClassifier
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.runs.initial import names_by_part

VOCAB, CLASSES = 13, 3
ROWS = [[4, 5, 6, 9, EOS], [7, 8, EOS]]


def batch_of(rows):
    longest = max(map(len, rows))
    items = tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
    columns = {"text": Sequences(items, items != PAD), "label": tensor([2, 0][: len(rows)])}
    return Batch(columns, ROUTE, torch.arange(len(rows)), len(rows))


def build(decoder="transformer", **settings) -> CausalClassifier:
    torch.manual_seed(2)
    heads = AttentionSettings(num_heads=2)
    given = {"dim": 8, "decoder": small(decoder), "self_attention": heads, "dropout": 0.0, **settings}
    model = MODELS.build(Choice("causal_classifier", given), columns_of(text=VOCAB, label=CLASSES))
    assert isinstance(model, CausalClassifier)
    return model.double().eval()


def step_by_step(model, row):
    """The states of a decoder that reads BOS and a row one piece after another: (1 + n, dim)."""
    state, found = model.decoder.start(rows=torch.arange(1)), []
    for one in (BOS, *row):
        decoded, state = model.decoder(tensor([[one]]), state)
        found.append(decoded.states[0, 0])
    return torch.stack(found)


@pytest.mark.parametrize("decoder", DECODERS)
@torch.no_grad()
def test_the_class_is_that_of_the_last_state_and_pieces_are_those_of_a_language_model(decoder):
    model = build(decoder)
    read = model.read(batch_of(ROWS))
    for number, row in enumerate(ROWS):
        states = step_by_step(model, row)
        assert_close(read.log_probs[number], model.to_class(states[-1]).log_softmax(dim=-1))
        scores = (states[:-1] @ model.head.weight.T).log_softmax(dim=-1)
        assert_close(read.text[number], -scores.gather(1, tensor(row).unsqueeze(1)).mean())
    assert_close(model.log_probs(batch_of(ROWS)), read.log_probs)


@torch.no_grad()
def test_a_pooling_reads_the_states_behind_the_start():
    model = build(readout=Choice("mean"))
    found = model.log_probs(batch_of(ROWS))
    for number, row in enumerate(ROWS):
        assert_close(found[number], model.to_class(step_by_step(model, row)[1:].mean(dim=0)).log_softmax(dim=-1))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_language_model_has_all_of_it_but_the_class(decoder):
    """Names and shapes, so that `init` takes them, and with them the same loss of a text."""
    theirs, mine = model_of(decoder, VOCAB), build(decoder)
    known, parts = theirs.state_dict(), names_by_part(theirs)
    missing, extra = mine.load_state_dict(known, strict=False)
    assert not extra and all(name.startswith(("to_class", "pooling")) for name in missing)
    assert all(names_by_part(mine)[part] == names for part, names in parts.items())
    nats = theirs.nll(batch_of(ROWS)).sum(dim=-1) / tensor([len(row) for row in ROWS])
    assert_close(mine.read(batch_of(ROWS)).text, nats)


@torch.no_grad()
def test_what_is_shown_is_what_pieces_saw_of_each_other():
    """The start of the text has neither a row nor a column; the rest are the weights of the decoder."""
    model, row = build(), ROWS[0]
    records = model.attention_records(batch_of([row])).records
    name, record = next(iter(records.items()))
    attention = dict(model.named_modules())[name]
    seen = []
    hook = attention.register_forward_hook(lambda module, given, answer: seen.append(given))
    model.log_probs(batch_of([row]))
    hook.remove()
    weights = attention(*seen[0], need_weights=True).weights
    assert_close(record.answers[0].weights, weights[..., 1:, 1:])
    assert record.answers[0].weights.shape[-2:] == (len(row), len(row))
    last = [one.answers[0].weights for one in records.values() if one.role.queries][-1]
    assert records["pooling"].role == (None, "text", False, False)
    assert_close(records["pooling"].answers[0].weights, last[..., -1:, :])


def test_places_count_the_start():
    model = build(position=Choice("learned", {"max_length": 6}))
    assert model.max_source == 5
    model.log_probs(batch_of(ROWS))


def test_a_head_that_copies_is_refused():
    with pytest.raises(ConfigError, match=r"model\.head: copies from a source"):
        build(head=Choice("pointer"))
