"""Grades of explanations: curves by hand, and that a method which knows is told from chance."""

import math

import pytest
import torch
from classifiers import tiny_classifier_in
from engines import tiny_run_in
from torch import nn, tensor
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.explain.relevance import Question
from regard.predictor import load
from regard.registry import Choice
from regard.reports.explanations import (
    FRACTIONS,
    TWIN,
    UNTRAINED,
    CurveFigure,
    Grade,
    curves,
    grade_run,
    rank_correlation,
    ranking,
    table,
)


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
    assert len(FRACTIONS) == len(covered)
    assert_close(found.deletion, tensor([sum(covered) / 10 / 5]))
    assert_close(found.insertion, tensor([sum(covered) / 10 / 5]))


def test_the_best_order_beats_its_reverse():
    question, best = Sum(1, 2, 3, 4), tensor([[1.0, 2.0, 3.0, 4.0]])
    assert curves(question, best).deletion > curves(question, -best).deletion


def grade(value, chance=0.001):
    figure = CurveFigure(value, value - 0.1, value + 0.1, chance, 1.0)
    return Grade(figure, figure, None)


@pytest.mark.parametrize(("chance", "words"), [(0.001, "and not by chance"), (0.4, "it may be chance")])
def test_one_line_names_the_best_method_but_never_chance(chance, words):
    line = ranking({"random": grade(0.9), "lrp": grade(0.5, chance), "attention": grade(0.3)})
    assert line.startswith("of these 2 methods, lrp best predicts")
    assert words in line


def test_the_table_has_the_best_first_and_marks_what_is_sure():
    lines = table({"attention": grade(0.3, 0.5), "lrp": grade(0.5)._replace(conservation=0.25)}).splitlines()
    assert lines[2] == "| lrp | 0.500 [0.400, 0.600]* | 0.500 [0.400, 0.600]* | 0.25 |"
    assert lines[3] == "| attention | 0.300 [0.200, 0.400] | 0.300 [0.200, 0.400] |  |"


def test_rank_correlation_by_hand():
    """Ranks 1 2 3 4 beside 2 1 4 3: 1 - 6 · 4 / (4 · 15). Equal ones share a rank: 1.5 1.5 3 beside 1 2 3."""
    one = tensor([[1.0, 20.0, 300.0, 4000.0], [1.0, 2.0, 3.0, 4.0]])
    other = tensor([[-2.0, -8.0, 5.0, 0.0], [4.0, 3.0, 2.0, 1.0]])
    assert_close(rank_correlation(one, other), tensor([1 - 6 * 4 / 60, -1.0]).double())
    tied = rank_correlation(tensor([[0.0, 0.0, 1.0]]), tensor([[1.0, 2.0, 3.0]]))
    assert_close(tied, tensor([1.5 / math.sqrt(1.5 * 2)]).double())
    assert rank_correlation(tensor([[1.0, 1.0]]), tensor([[1.0, 2.0]])).isnan().all()


def test_the_table_tells_how_far_other_models_agree():
    known = {"lrp": grade(0.5)._replace(correlations={UNTRAINED: 0.04, TWIN: 0.8}), "random": grade(0.1)}
    lines = table(known).splitlines()
    assert lines[0] == "| method | deletion | insertion | conservation error | untrained | twin |"
    assert lines[2].endswith("|  | 0.04 | 0.80 |")
    assert lines[3].endswith("|  |  |  |")


def test_a_model_agrees_with_itself_and_not_with_one_that_learnt_nothing(tmp_path):
    run, methods = tiny_run_in(tmp_path), [Choice("lrp"), Choice("gradient_times_input")]
    found = grade_run(load(run, ["device=cpu"]), methods, 3, lambda text: None, run)
    for name in ("attention", "lrp", "gradient_times_input"):
        assert found[name].correlations[TWIN] == pytest.approx(1.0)
        assert found[name].correlations[UNTRAINED] < 0.9
    assert found["random"].correlations == {}
    with pytest.raises(ConfigError, match=r"--beside: .* has another vocabulary"):
        grade_run(load(run, ["device=cpu"]), methods, 3, print, tiny_classifier_in(tmp_path))
