"""Records → maps: which sentence, which way it looks, and nothing of the padding."""

import pytest
import torch
from networks import build_language_model, build_translator
from torch.testing import assert_close

from regard.attention import Attended, Recorded, Role, recording
from regard.explain.maps import attention_maps
from regard.models import ROUTE, AttentionSettings
from regard.records import PAD, Batch, Sequences
from regard.registry import Choice

SOURCE, TARGET = (4, 2), (3, 5)  # lengths of two sentences


@pytest.fixture
def batch():
    def column(lengths):
        ids = torch.tensor([[5] * (length - 1) + [2] + [PAD] * (max(lengths) - length) for length in lengths])
        return Sequences(ids, ids != PAD)

    return Batch({"source": column(SOURCE), "target": column(TARGET)}, ROUTE, torch.arange(2), sum(TARGET))


@pytest.fixture
def maps(batch):
    def of(encoder, decoder, **attention):
        sockets = [AttentionSettings(**attention)] * 2
        settings = dict(dim=8, encoder=encoder, decoder=decoder, attention=sockets[0], self_attention=sockets[1])
        model = build_translator(settings, 9, 9).eval()
        with torch.no_grad(), recording(model) as records:
            model.decode(batch, need_weights=True)
        return records, [
            attention_maps(records, row, {"source": SOURCE[row], "target": TARGET[row]}) for row in range(2)
        ]

    return of


def test_a_transformer_has_maps_of_three_kinds_layer_by_layer(maps):
    blocks = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    records, found = maps(blocks, blocks, num_heads=2)
    for row, shown in enumerate(found):
        sizes = {"encoder": (SOURCE[row],) * 2, "decoder": (TARGET[row],) * 2, "cross": (TARGET[row], SOURCE[row])}
        assert sorted((one.kind, one.layer) for one in shown) == [(kind, at) for kind in sorted(sizes) for at in (0, 1)]
        for one in shown:
            weights = torch.tensor(one.weights)
            queries, keys = sizes[one.kind]
            assert weights.shape == (2, queries, keys)
            assert_close(weights, records[one.name].answers[0].weights[row, :, :queries, :keys], atol=5.1e-5, rtol=0)
            assert_close(weights.sum(dim=-1), torch.ones(2, queries), atol=keys * 5.1e-5, rtol=0)


def test_a_decoder_that_goes_step_by_step_has_one_map(maps):
    steps = Choice("recurrent", {"hidden_dim": 8})
    _, found = maps(steps, steps, score=Choice("additive"))
    for row, shown in enumerate(found):
        assert [(one.kind, one.layer) for one in shown] == [("cross", 0)]
        assert torch.tensor(shown[0].weights).shape == (1, TARGET[row], SOURCE[row])


def test_an_attention_without_weights_has_no_map():
    records = {"looks": Recorded(Role("target", "source"), [Attended(torch.zeros(1, 1, 2))])}
    assert attention_maps(records, 0, {"source": 1, "target": 1}) == []


@pytest.mark.parametrize("tape", [None, 2])
@pytest.mark.parametrize("order", ["luong", "bahdanau"])
def test_networks_that_look_at_their_own_states_have_maps_in_the_order_of_the_words(order, tape, maps):
    """Each word at what was read before it, in a whole pass as step by step: right to left at the words behind it."""
    encoder = Choice("recurrent", {"hidden_dim": 8, "cell": Choice("lstmn")})
    decoder = Choice("recurrent", {"hidden_dim": 8, "cell": Choice("lstmn", {"memory_size": tape}), "order": order})
    _, found = maps(encoder, decoder, score=Choice("bilinear"))
    for row, shown in enumerate(found):
        ahead, back, own = (torch.tensor(one.weights)[0] for one in shown if one.kind != "cross")
        assert ahead.shape == back.shape == (SOURCE[row], SOURCE[row])
        later = torch.ones(SOURCE[row], SOURCE[row]).triu()
        assert bool((ahead[later.bool()] == 0).all()) and bool((back[later.mT.bool()] == 0).all())
        sums = torch.ones(SOURCE[row] - 1)
        assert_close(ahead.sum(dim=-1)[1:], sums, atol=3e-4, rtol=0)
        assert_close(back.sum(dim=-1)[:-1], sums, atol=3e-4, rtol=0)
        assert own.shape == (TARGET[row], TARGET[row])
        assert bool((own.triu() == 0).all())
        near = torch.ones_like(own).triu(-(tape or TARGET[row]))
        assert torch.equal(own != 0, (near.tril(-1) > 0))


def test_a_language_model_that_looks_at_its_last_states_has_a_map_of_its_words():
    """The hidden states that its window begins with are no words."""
    cell = Choice("key_value", {"window": 3})
    model = build_language_model(dict(dim=8, decoder=Choice("recurrent", {"hidden_dim": 8, "cell": cell})), 9).eval()
    ids = torch.tensor([[5, 6, 7, 8, 2]])
    with torch.no_grad(), recording(model) as records:
        model.decode(Batch({"text": Sequences(ids, ids != PAD)}, ROUTE, torch.arange(1), 5))
    (found,) = attention_maps(records, 0, {"text": 5})
    weights = torch.tensor(found.weights)[0]
    assert (found.kind, weights.shape) == ("decoder", (5, 5))
    assert torch.equal(weights != 0, torch.ones(5, 5).triu(-3).tril(-1) > 0)
