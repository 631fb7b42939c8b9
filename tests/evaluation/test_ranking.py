"""MRR and MAP of second texts, by hand."""

import pytest

from regard.errors import RegardError
from regard.evaluation.metric import corpus_of
from regard.evaluation.ranking import MeanAveragePrecision, MeanReciprocalRank, RankingMetric

FIRST = ["q1", "q2", "q1", "q1", "q2", "q3", "q3", "q1"]
RIGHT = ["0", "1", "1", "0", "0", "0", "0", "1"]
CHANCE = [0.9, 0.2, 0.6, 0.1, 0.5, 0.9, 0.1, 0.3]
# q1: 0.9 no, 0.6 yes, 0.3 yes, 0.1 no → ranks 2 and 3; q2: 0.5 no, 0.2 yes → rank 2; q3 has nothing relevant
MRR, MAP = (1 / 2 + 1 / 2) / 2, ((1 / 2 + 2 / 3) / 2 + 1 / 2) / 2


def figure(metric: RankingMetric, probabilities: list[float], first=FIRST, right=RIGHT) -> float:
    answers = ["1" if chance >= 0.5 else "0" for chance in probabilities]
    corpus = corpus_of(answers, right, first)
    known = tuple({"0": 1 - chance, "1": chance} for chance in probabilities)
    return metric.value(metric.statistics(corpus._replace(probabilities=known)).sum(axis=0))


def test_rankings_by_hand():
    assert figure(MeanReciprocalRank(), CHANCE) == pytest.approx(100 * MRR)
    assert figure(MeanAveragePrecision(), CHANCE) == pytest.approx(100 * MAP)


def test_only_the_order_within_a_first_text_counts():
    other = [chance / 2 + 0.5 * (text == "q2") for chance, text in zip(CHANCE, FIRST, strict=True)]
    assert figure(MeanAveragePrecision(), other) == pytest.approx(100 * MAP)


@pytest.mark.parametrize("metric", [MeanReciprocalRank, MeanAveragePrecision])
def test_relevant_ones_in_front_have_the_full_score(metric):
    assert figure(metric(), [float(label) for label in RIGHT]) == pytest.approx(100.0)


def test_of_equal_probabilities_the_relevant_one_is_the_last():
    assert figure(MeanReciprocalRank(), [0.5] * 3, ["q"] * 3, ["0", "1", "0"]) == pytest.approx(100 / 3)


def test_another_label_may_be_the_relevant_one():
    right = ["no" if label == "0" else "yes" for label in RIGHT]
    corpus = corpus_of(right, right, FIRST)._replace(probabilities=tuple({"yes": chance} for chance in CHANCE))
    metric = MeanReciprocalRank(relevant="yes")
    assert metric.value(metric.statistics(corpus).sum(axis=0)) == pytest.approx(100 * MRR)
    assert metric.signature(corpus) == "relevant:yes|first texts:3"


def test_labels_without_probabilities_are_certain():
    """q1: one of two relevant ones is found and stands alone in front; q2: nothing is found, all are equal."""
    given = ["0", "0", "1", "0", "0", "0", "0", "0"]
    assert MeanReciprocalRank().score(given, RIGHT, FIRST).value == pytest.approx(100 * (1 + 1 / 2) / 2)
    assert MeanAveragePrecision().score(given, RIGHT, FIRST).value == pytest.approx(100 * ((1 + 2 / 4) / 2 + 1 / 2) / 2)


def test_nothing_relevant_has_a_score_of_zero():
    assert MeanReciprocalRank().score(["1"], ["0"], ["q"]).value == 0.0


def test_the_first_texts_are_needed():
    with pytest.raises(RegardError, match="MRR needs the first texts"):
        MeanReciprocalRank().score(["1"], ["1"])


@pytest.mark.parametrize("labels", [["good", "bad"], ["1", "good", "bad"], ["good", "good"]])
def test_other_labels_than_the_relevant_one_and_one_more_are_refused(labels):
    with pytest.raises(RegardError, match=r"MRR ranks by '1' and one other label, and there .*relevant: LABEL"):
        MeanReciprocalRank().check(labels)
    MeanReciprocalRank(relevant="good").check(labels[-2:])
    MeanReciprocalRank().check(["1", "0 ", "1"])
