"""Grades of explanations: curves by hand, and that a method which knows is told from chance."""

import pytest
import torch
from torch import nn, tensor
from torch.testing import assert_close

from regard.explain.relevance import Question
from regard.explain.relevance.grading import SHARES, curves
from regard.reports.explanations import Figure, Grade, ranking, table


class Sum(Question):
    """p = the sum of the words, each a vector of one number, over 10; an unknown word is 0."""

    def __init__(self, *words):
        self.model, self.items = nn.Module(), tensor([0])
        self.words = tensor([[[float(word)] for word in words]])

    @property
    def vectors(self):
        return [self.words]

    def baseline(self, kind):
        return [torch.zeros_like(self.words)]

    def answer(self, vectors):
        return (vectors[0].sum(dim=(1, 2)) / 10).log().unsqueeze(-1)


def test_curves_by_hand():
    question = Sum(1, 2, 3, 4)
    found = curves(question, tensor([[1.0, 2.0, 3.0, 4.0]]))
    covered = [4, 4 + 3, 4 + 3, 4 + 3 + 2, 4 + 3 + 2 + 1]  # at 0.1, 0.3, 0.5, 0.7 and 0.9 of four words
    assert len(SHARES) == len(covered)
    assert_close(found.deletion, tensor([sum(covered) / 10 / 5]))
    assert_close(found.insertion, tensor([sum(covered) / 10 / 5]))


def test_the_best_order_beats_its_reverse():
    question, best = Sum(1, 2, 3, 4), tensor([[1.0, 2.0, 3.0, 4.0]])
    assert curves(question, best).deletion > curves(question, -best).deletion


def grade(value, chance=0.001):
    figure = Figure(value, value - 0.1, value + 0.1, chance, 1.0)
    return Grade(figure, figure, None)


@pytest.mark.parametrize(("chance", "words"), [(0.001, "and not by chance"), (0.4, "it may be chance")])
def test_one_line_names_the_best_method_but_never_chance(chance, words):
    line = ranking({"random": grade(0.9), "lrp": grade(0.5, chance), "attention": grade(0.3)})
    assert line.startswith("of these 2 methods, lrp tells best")
    assert words in line


def test_the_table_has_the_best_first_and_marks_what_is_sure():
    lines = table({"attention": grade(0.3, 0.5), "lrp": grade(0.5)._replace(conservation=0.25)}).splitlines()
    assert lines[2] == "| lrp | 0.500 [0.400, 0.600]* | 0.500 [0.400, 0.600]* | 0.25 |"
    assert lines[3] == "| attention | 0.300 [0.200, 0.400] | 0.300 [0.200, 0.400] |  |"
