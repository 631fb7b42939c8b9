"""The prototype that training is raced against: its loss is torch's, and padding changes nothing."""

import pytest
import torch
from torch import tensor
from torch.nn import functional
from torch.testing import assert_close

from benchmarks import benchmark
from regard.records import BOS, EOS, PAD

prototype = benchmark("prototype")
VOCAB, DIM = 13, 8


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_chunked_loss_is_that_of_torch(smoothing, monkeypatch):
    monkeypatch.setattr(prototype, "CHUNK", 3)  # two whole chunks and a rest
    states, table = (torch.randn(rows, DIM, dtype=torch.float64, requires_grad=True) for rows in (7, VOCAB))
    targets = torch.randint(VOCAB, (7,))
    ours = prototype.SmoothedLoss.apply(states, table, targets, smoothing)
    theirs = functional.cross_entropy(states @ table.T, targets, label_smoothing=smoothing, reduction="sum")
    assert_close(ours, theirs)
    for found, wanted in zip(*(torch.autograd.grad(2 * loss, (states, table)) for loss in (ours, theirs)), strict=True):
        assert_close(found, wanted)


def test_padding_does_not_change_the_loss():
    sizes = prototype.Sizes(VOCAB, DIM, heads=2, feedforward=16, encoder_layers=2, decoder_layers=2, dropout=0.0)
    model = prototype.Prototype(sizes, PAD).double()
    sources = [[4, 5, 6, EOS], [7, EOS]]
    reads, labels = [[BOS, 8, 9, 10], [BOS, 11]], [[8, 9, 10, EOS], [11, EOS]]
    alone = sum(model(*(tensor([row]) for row in rows), 0.1) for rows in zip(sources, reads, labels, strict=True))
    sources[1] += [PAD] * 2
    reads[1] += [PAD] * 2
    labels[1] += [-100] * 2
    assert_close(model(tensor(sources), tensor(reads), tensor(labels), 0.1), alone)


def test_a_word_is_foretold_without_those_behind_it():
    sizes = prototype.Sizes(VOCAB, DIM, heads=2, feedforward=16, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = prototype.Prototype(sizes, PAD).double()
    vectors = torch.randn(3, DIM, dtype=torch.float64, requires_grad=True)
    packing = prototype.Packing(tensor([[BOS, 8, 9]]), PAD)
    source = torch.randn(2, DIM, dtype=torch.float64)
    written = model.decoder[0](vectors, packing, source, prototype.Packing(tensor([[4, EOS]]), PAD))
    for place in range(3):
        (gradient,) = torch.autograd.grad(written[place].sum(), vectors, retain_graph=True)
        assert [bool(row.any()) for row in gradient] == [other <= place for other in range(3)]
