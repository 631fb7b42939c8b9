"""What a passage knows of the question: shapes for every row, values by hand."""

import pytest
import torch
from torch.testing import assert_close

from regard.models import AttentionSettings
from regard.models.build import build_sockets
from regard.models.fusions import FUSIONS
from regard.models.fusions.fusion import Fusion
from regard.records import Sequences
from regard.registry import Choice

DIM, VECTOR = 4, 3
PASSAGE_MASK = torch.arange(5) < torch.tensor([[5], [2]])
QUESTION_MASK = torch.arange(3) < torch.tensor([[2], [3]])


def build(name: str) -> Fusion:
    settings = AttentionSettings(score=Choice("relu_dot"))
    return FUSIONS.build(Choice(name), DIM, VECTOR, build_sockets(settings, settings)).double().requires_grad_(False)


def inputs():
    passage, question = torch.randn(2, 5, DIM).double(), torch.randn(2, 3, DIM).double()
    return Sequences(passage, PASSAGE_MASK), Sequences(question, QUESTION_MASK), torch.randn(2, VECTOR).double()


@pytest.mark.parametrize("name", sorted(FUSIONS))
def test_each_word_keeps_its_vector_and_is_as_wide_as_told(name):
    fusion, (passage, question, vector) = build(name), inputs()
    found = fusion(passage, question, vector)
    assert found.shape == (2, 5, fusion.dim)
    assert_close(found[..., :DIM], passage.items, rtol=0, atol=0)


@pytest.mark.parametrize("name", sorted(FUSIONS))
def test_padding_of_the_question_changes_nothing(name):
    fusion, (passage, question, vector) = build(name), inputs()
    changed = question._replace(items=question.items.masked_fill(~QUESTION_MASK.unsqueeze(-1), 1e3))
    assert_close(fusion(passage, question, vector), fusion(passage, changed, vector))


def test_concatenated_is_the_same_vector_beside_each_word():
    fusion, (passage, question, vector) = build("concatenated"), inputs()
    for place in range(5):
        assert_close(fusion(passage, question, vector)[:, place, DIM:], vector, rtol=0, atol=0)


def test_aligned_equals_a_loop_over_the_question(assert_agrees):
    fusion, (passage, question, vector) = build("aligned"), inputs()
    found, weight = fusion(passage, question, vector), fusion.layer.attention.score.shared.weight
    for row, length in enumerate([2, 3]):
        for place in range(5):
            asked = torch.relu(weight @ passage.items[row, place])
            scores = torch.stack([asked @ torch.relu(weight @ question.items[row, j]) for j in range(length)])
            weights = scores.softmax(dim=0)
            wanted = sum(weights[j] * question.items[row, j] for j in range(length))
            assert_agrees("A29", found[row, place, DIM:], wanted)
