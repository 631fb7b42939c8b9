"""Packed weights, and the likeliest words by them: against products in float64 and the bound of 8-bit rounding."""

import pytest
import torch
from torch.testing import assert_close

from regard.ops.kernels.packing import PackedProduct
from regard.ops.kernels.vocabulary import PackedTable, compiled_vocabulary
from regard.ops.topk import top

pytestmark = pytest.mark.skipif(compiled_vocabulary() is None, reason="no compiler here: nothing to prove")


@pytest.mark.parametrize(("rows", "vocab", "count"), [(1, 70, 1), (5, 1000, 6), (13, 1037, 64), (200, 4096, 11)])
def test_best_words_are_those_of_all_log_probabilities(rows, vocab, count):
    torch.manual_seed(rows)
    weight, bias, states = torch.randn(vocab, 24), torch.randn(vocab), torch.randn(rows, 24)
    weight[7] = weight[11] = weight[60]
    bias[7] = bias[11] = bias[60] = 9.0  # equal ones, far ahead: the first comes first
    words, found = PackedTable(compiled_vocabulary(), weight, bias).best(states, count, (0, 11))
    log_probs = (states.double() @ weight.double().t() + bias.double()).log_softmax(dim=-1)
    log_probs[:, [0, 11]] = float("-inf")
    wanted, places = top(log_probs, count)
    assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    assert_close(log_probs.gather(-1, words), wanted, rtol=1e-5, atol=1e-5)
    assert bool((words[:, 0] == places[:, 0]).all())


def test_a_table_of_huge_scores_stays_finite():
    weight, states = torch.randn(300, 16) * 100, torch.randn(4, 16) * 10
    words, found = PackedTable(compiled_vocabulary(), weight, None).best(states, 2, ())
    wanted, places = (states.double() @ weight.double().t()).log_softmax(dim=-1).topk(2)
    assert torch.equal(words, places)
    assert_close(found.double(), wanted, rtol=1e-4, atol=1e-3)


def test_a_packed_product_holds_its_weight():
    weight, bias = torch.arange(21.0).view(7, 3), torch.arange(7.0)
    packed = PackedProduct(weight, bias, 4)
    assert packed.panels.shape == (2, 3, 4)
    assert torch.equal(packed.panels.transpose(1, 2).reshape(8, 3)[:7], weight)
    assert not packed.panels[1, :, 3].any()
    assert torch.equal(packed.bias, torch.tensor([0.0, 1, 2, 3, 4, 5, 6, 0]))


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 5, 3), (13, 24, 70), (30, 129, 33)])
def test_a_product_in_eight_bits_is_off_by_no_more_than_its_rounding(rows, inputs, outputs):
    kernel = compiled_vocabulary()
    if not kernel.multiplies_eight():
        pytest.skip("this processor has no 8-bit products")
    weight, states = torch.randn(outputs, inputs), torch.randn(rows, inputs)
    words, found = PackedTable(kernel, weight, None, "int8").best(states, outputs, ())
    half = (weight.abs().amax(dim=1, keepdim=True) / 254, states.abs().amax(dim=1, keepdim=True) / 254)
    most = states.abs().sum(1, keepdim=True) * half[0].T + half[1] * (weight.abs().sum(1) + inputs * half[0].T)
    logits = (states @ weight.t()).log_softmax(dim=-1)
    answered = torch.empty_like(logits).scatter_(-1, words, found)
    assert bool(((answered - logits).abs() <= 2 * most.amax(dim=-1, keepdim=True)).all())
