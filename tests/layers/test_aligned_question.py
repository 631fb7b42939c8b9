"""Aligned questions against a loop over the words of the passage."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention
from regard.layers.aligned_question import AlignedQuestion
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

BATCH, PASSAGE, QUESTION, DIM = 3, 6, 4, 5
LENGTHS = [4, 2, 0]
MASK = torch.arange(QUESTION) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def build(score: str) -> tuple[AlignedQuestion, Attention]:
    attention = build_attention(AttentionSettings(score=Choice(score)), DIM, DIM).double().requires_grad_(False)
    return AlignedQuestion(DIM, DIM, attention), attention


@pytest.mark.parametrize("score", ["additive", "bilinear", "relu_dot"])
def test_equals_a_loop_over_the_passage(score, assert_agrees):
    layer, attention = build(score)
    passage, question = random(BATCH, PASSAGE, DIM), random(BATCH, QUESTION, DIM)
    joined = layer(passage, question, MASK)
    assert joined.shape == (BATCH, PASSAGE, layer.dim) and layer.dim == 2 * DIM
    assert_close(joined[..., :DIM], passage, rtol=0, atol=0)
    assert bool((joined[2, :, DIM:] == 0).all())  # no question, nothing of it
    for row in range(2):
        words = question[row, : LENGTHS[row]]
        for place in range(PASSAGE):
            asked = passage[row, place].unsqueeze(0)
            pairs = [attention.score(asked, attention.score.prepare(word.unsqueeze(0)), None) for word in words]
            weights = torch.cat(pairs).squeeze(-1).softmax(dim=0)
            assert_agrees(
                "A29", joined[row, place, DIM:], sum(w * word for w, word in zip(weights, words, strict=True))
            )


def test_the_question_may_be_as_wide_as_it_likes():
    settings = AttentionSettings(score=Choice("additive"))
    layer = AlignedQuestion(DIM, 3, build_attention(settings, DIM, 3).double())
    assert layer(random(1, PASSAGE, DIM), random(1, QUESTION, 3)).shape[-1] == layer.dim == DIM + 3
    heads = AlignedQuestion(DIM, 3, build_attention(AttentionSettings(num_heads=5), DIM, 3).double())
    assert heads(random(1, PASSAGE, DIM), random(1, QUESTION, 3)).shape[-1] == heads.dim


def test_the_order_of_the_question_does_not_matter():
    layer, _ = build("bilinear")
    passage, question, order = random(BATCH, PASSAGE, DIM), random(BATCH, QUESTION, DIM), torch.randperm(QUESTION)
    assert_close(layer(passage, question[:, order], MASK[:, order]), layer(passage, question, MASK))


def test_gradients_are_those_of_finite_differences():
    layer, _ = build("bilinear")
    passage, question = random(BATCH, 2, DIM).requires_grad_(), random(BATCH, QUESTION, DIM).requires_grad_()
    assert torch.autograd.gradcheck(lambda *pair: layer(*pair, MASK), (passage, question))
