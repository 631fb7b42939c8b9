"""Figures of several labels and of numbers, by loops over labels and by NumPy."""

import random

import numpy as np
import pytest

from regard.errors import RegardError
from regard.evaluation import METRICS, interval_of
from regard.evaluation.metric import corpus_of
from regard.registry import Choice
from regard.text.label_sets import read_labels, write_labels


def value(name, given, wanted, **settings):
    return METRICS.build(Choice(name, settings)).score(given, wanted).value


def made(count, seed):
    """Sets of five labels: wanted ones, and answers near them."""
    draw = random.Random(seed)
    wanted = [{label for label in "abcde" if draw.random() < 0.3} for _ in range(count)]
    given = [{label for label in "abcde" if (label in some) != (draw.random() < 0.2)} for some in wanted]
    return given, wanted


def f1(given, wanted, label):
    pairs = [*zip(given, wanted, strict=True)]
    right, all_of = (
        sum(label in one & other for one, other in pairs),
        sum((label in one) + (label in other) for one, other in pairs),
    )
    return right, all_of


def test_label_figures_are_those_of_loops():
    given, wanted = made(200, seed=1)
    texts = [[", ".join(sorted(one)) or "-" for one in some] for some in (given, wanted)]
    counts = [f1(given, wanted, label) for label in "abcde"]
    micro = 200 * sum(right for right, _ in counts) / sum(total for _, total in counts)
    assert value("labels_f1", *texts) == pytest.approx(micro)
    macro = np.mean([200 * right / total for right, total in counts])
    assert value("labels_f1", *texts, average="macro") == pytest.approx(macro)
    exact = np.mean([one == other for one, other in zip(given, wanted, strict=True)])
    assert value("subset_accuracy", *texts) == pytest.approx(100 * exact)
    wrong = np.mean([len(one ^ other) / 5 for one, other in zip(given, wanted, strict=True)])
    assert value("hamming_loss", *texts) == pytest.approx(100 * wrong)


def test_wrong_labels_do_not_lower_the_hamming_loss():
    """Two wrong labels that no reference has, of the two labels of the references, and three texts."""
    wanted = ["a, b", "a", "-"]
    assert value("hamming_loss", ["a, b", "a", "-"], wanted) == 0
    losses = [value("hamming_loss", ["a", "a", more], wanted) for more in ("-", "c", "c, d")]
    assert losses == pytest.approx([100 / 6, 200 / 6, 300 / 6])
    metric = METRICS.build(Choice("hamming_loss"))
    parts = [metric.statistics(corpus_of(given, wanted))[:, 1].tolist() for given in (wanted, ["c", "d", "e"])]
    assert parts == [[2, 2, 2]] * 2


def test_every_label_that_no_reference_has_counts():
    """Of a, x, y and z beside a: 2 · 1 / (4 + 1)."""
    assert value("labels_f1", ["a, x, y, z"], ["a"]) == pytest.approx(40)


def test_label_sets_are_read_as_they_are_written():
    assert read_labels(" b , a,b,, ") == ["b", "a"]
    assert read_labels("-") == read_labels("") == []
    assert (write_labels([]), write_labels(["b", "a"])) == ("-", "b, a")


def ranks(numbers):
    return np.array([(numbers < one).sum() + ((numbers == one).sum() + 1) / 2 for one in numbers])


def test_correlations_and_errors_are_those_of_numpy():
    draw = np.random.default_rng(2)
    wanted = draw.normal(1000, 3, 300).round(1)  # far from 0, with equal ones
    given = (wanted + draw.normal(0, 2, 300)).round(1)
    texts = [[f"{one:g}" for one in some] for some in (given, wanted)]
    assert value("pearson", *texts) == pytest.approx(100 * np.corrcoef(given, wanted)[0, 1])
    assert value("spearman", *texts) == pytest.approx(100 * np.corrcoef(ranks(given), ranks(wanted))[0, 1])
    assert value("mean_squared_error", *texts) == pytest.approx(np.mean((given - wanted) ** 2))
    assert value("mean_absolute_error", *texts) == pytest.approx(np.mean(np.abs(given - wanted)))
    metric = METRICS.build(Choice("pearson"))
    low, high = interval_of(metric, metric.statistics(corpus_of(*texts)))
    assert low < value("pearson", *texts) < high


def test_equal_answers_correlate_with_nothing():
    assert value("pearson", ["3", "3", "3"], ["1", "2", "3"]) == 0.0
    assert value("spearman", ["1", "2", "3"], ["2e8", "2e8", "2e8"]) == 0.0


@pytest.mark.parametrize("unit", [1e-7, 1e-30, 1e30])
def test_a_correlation_does_not_depend_on_the_unit(unit):
    rows = [[3.0, 1.0, 2.0, 5.0], [2.0, 1.0, 3.0, 4.0]]
    given, wanted = ([repr(unit * one) for one in row] for row in rows)
    assert value("pearson", given, given) == pytest.approx(100)
    assert value("pearson", given, wanted) == pytest.approx(100 * np.corrcoef(*rows)[0, 1])


def test_what_differs_by_rounding_alone_correlates_with_nothing():
    given = [repr(one) for one in (0.1 + 0.2, 0.3, 0.3)]
    assert value("pearson", given, ["3", "2", "1"]) == value("pearson", ["0.1"] * 3, ["3", "2", "1"]) == 0.0


def test_the_nearest_of_several_references_counts():
    assert value("mean_absolute_error", ["1", "2"], [["5", "0"], ["2.5"]]) == pytest.approx(0.75)


@pytest.mark.parametrize("name", ["mean_squared_error", "mean_absolute_error"])
@pytest.mark.parametrize(("given", "wanted"), [(["1", "1", "good"], ["1"] * 3), (["1"] * 3, ["1", "1", "good"])])
def test_errors_of_numbers_name_the_line(name, given, wanted):
    with pytest.raises(RegardError, match="'good' of line 3 is not a number"):
        value(name, given, wanted)


@pytest.mark.parametrize("name", ["pearson", "spearman", "mean_squared_error"])
@pytest.mark.parametrize("word", ["good", "nan", "inf", "1_000"])
def test_a_word_is_not_a_number(name, word):
    with pytest.raises(RegardError, match=f"'{word}' of line . is not a number"):
        value(name, ["1", word], ["1", "2"])
