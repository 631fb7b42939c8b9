"""Pair classifiers: every encoder and comparison, what is shared, and the order of the texts."""

import pytest
import torch
from networks import columns_of
from torch import tensor
from torch.testing import assert_close

from regard.attention.attention import attentions_in
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.layers.pooling import POOLINGS
from regard.models import MODELS, ROUTE
from regard.models.comparisons import COMPARISONS
from regard.models.pair_classifier import PairClassifier
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

WORDS, CLASSES = 11, 3
FIRST = tensor([[5, 6, 7, EOS], [4, EOS, PAD, PAD]])
SECOND = tensor([[8, EOS, PAD], [9, 10, EOS]])


def batch(first, second) -> Batch:
    columns = {"first": Sequences(first, first != PAD), "second": Sequences(second, second != PAD)}
    return Batch({**columns, "label": tensor([2, 0])}, ROUTE, torch.arange(2), 2)


def build(**settings) -> PairClassifier:
    settings = {"dim": 8, "dropout": 0.0, **settings}
    columns = columns_of(first=WORDS, second=WORDS, label=CLASSES)
    model = MODELS.build(Choice("pair_classifier", settings), columns)
    assert isinstance(model, PairClassifier)
    return model.double().eval()


SIAMESE = Choice("siamese", {"hidden_dim": 6})


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_reads_pairs(encoder):
    model = build(encoder=Choice(encoder), position=Choice("sinusoidal"), comparison=SIAMESE)
    assert_close(model.log_probs(batch(FIRST, SECOND)).exp().sum(dim=-1), torch.ones(2).double())


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_comparison_reads_states(comparison):
    encoder = Choice("recurrent", {"hidden_dim": 4})
    model = build(encoder=encoder, comparison=Choice(comparison))
    together = model.log_probs(batch(FIRST, SECOND))
    alone = [
        model.log_probs(batch(FIRST[row : row + 1, :n], SECOND[row : row + 1, :m]))
        for row, n, m in ((0, 4, 2), (1, 2, 3))
    ]
    assert_close(torch.cat(alone), together)


def test_overlap_is_read_beside_the_comparison():
    plain, model = build(comparison=SIAMESE), build(comparison=SIAMESE, overlap=True)
    assert model.to_class.in_features == plain.to_class.in_features + 3
    model.to_class.weight.data[:, :-3] = 0.0
    model.to_class.weight.data[:, -3:] = torch.eye(3)
    model.to_class.bias.data.zero_()
    shared = tensor([[1 / 4, 1 / 2, 2 / 6], [1 / 2, 1 / 3, -1 / 5]]).double()  # EOS is in all
    assert_close(model.log_probs(batch(FIRST, SECOND)), shared.log_softmax(dim=-1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_symmetric_texts_can_be_swapped(pooling, overlap):
    comparison = Choice("siamese", {"symmetric": True, "pooling": Choice(pooling)})
    model = build(comparison=comparison, overlap=overlap, encoder=Choice("recurrent", {"hidden_dim": 4}))
    one, other = model.log_probs(batch(FIRST, SECOND)), model.log_probs(batch(SECOND, FIRST))
    assert_close(one, other, rtol=0, atol=1e-12)


def test_attention_says_which_text_looks_at_which():
    roles = [one.role[:2] for one in attentions_in(build(comparison=Choice("decomposable"))).values()]
    assert roles == [("first", "second"), ("second", "first")]


def test_texts_with_vocabularies_of_their_own_are_refused():
    columns = columns_of(first=WORDS, second=WORDS + 1, label=CLASSES)
    with pytest.raises(ConfigError, match=r"text\.shared"):
        MODELS.build(Choice("pair_classifier", {"dim": 8}), columns)
