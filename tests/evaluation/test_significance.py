"""Paired bootstrap against sacrebleu's resamples, against all draws of a tiny corpus, and at its ends."""

import random
from itertools import product

import numpy as np
import pytest
from processor_time import within
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from regard.errors import ConfigError, RegardError
from regard.evaluation import METRICS, paired_bootstrap
from regard.evaluation.bleu import Bleu
from regard.evaluation.chrf import Chrf
from regard.evaluation.exact_match import ExactMatch
from regard.evaluation.log_loss import ProbabilityMetric
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import (
    EXCHANGES,
    RESAMPLES,
    RESAMPLING_SEED,
    confidence_interval,
    gain_p_values,
    resampled,
)
from regard.registry import Choice

WORDS = ["the", "a", "cat", "dog", "house", "river", "sees", "finds", "small", "green", "old", "and", "or", "with"]


def spoiled(texts, rate, draw):
    return [" ".join(word for word in text.split() if draw.random() > rate) for text in texts]


@pytest.fixture(scope="module")
def texts():
    draw = random.Random(3)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(5, 25))) for _ in range(1000)]
    return references, spoiled(references, 0.20, draw), spoiled(references, 0.19, draw)


@pytest.mark.parametrize(("ours", "theirs"), [(Bleu(tokenize="13a"), BLEU()), (Chrf(), CHRF())])
def test_resamples_equal_those_of_sacrebleu(texts, ours, theirs, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(RESAMPLING_SEED))
    references, a, b = (column[:200] for column in texts)
    test = PairedTest([("a", a), ("b", b)], {"it": theirs}, [references], test_type="bs", n_samples=RESAMPLES)
    result = next(column for name, column in test()[1].items() if name != "System")[1]  # of the second system
    comparison = paired_bootstrap(ours, a, b, references)
    assert comparison.b.value == pytest.approx(result.score, abs=1e-9)

    both = np.stack([ours.statistics(corpus_of(column, references)) for column in (a, b)])
    figures = resampled(ours, both, resamples=RESAMPLES, seed=RESAMPLING_SEED)
    assert figures[:, 1].mean() == pytest.approx(result.mean, abs=1e-4)  # sacrebleu sums in single precision
    changes = np.abs(figures[:, 1] - figures[:, 0])  # sacrebleu's test, on our figures
    beyond = np.sum(changes - changes.mean() > abs(comparison.difference))
    assert (beyond + 1) / (RESAMPLES + 1) == pytest.approx(result.p_value, abs=1e-9)
    low, high = confidence_interval(ours, b, references)
    assert (high - low) / 2 == pytest.approx(result.ci, rel=0.05)


def test_p_value_equals_that_of_all_draws():
    references, a, b = ["x", "y", "z", "w"], ["x", "-", "-", "-"], ["-", "y", "z", "w"]
    gain = [-25, 25, 25, 25]  # of each sentence, in exact match of a corpus of four
    draws = [sum(gain[sentence] for sentence in draw) for draw in product(range(4), repeat=4)]
    exact = 2 * sum(difference <= 0 for difference in draws) / len(draws)
    comparison = paired_bootstrap(ExactMatch(), a, b, references, resamples=20_000)
    assert comparison.difference == 50
    assert comparison.p_value == pytest.approx(exact, abs=0.02)
    assert comparison.interval == tuple(np.percentile(draws, [2.5, 97.5]))


@pytest.mark.parametrize("name", [one for one in sorted(METRICS) if not issubclass(METRICS[one], ProbabilityMetric)])
def test_identical_systems_do_not_differ(texts, name):
    references, a, _ = (column[:50] for column in texts)
    if METRICS[name].answer_kind == "number":
        references, a = ([f"{len(text)}" for text in column] for column in (references, a))
    comparison = paired_bootstrap(METRICS.build(Choice(name)), a, a, references, references)
    assert comparison.difference == 0
    assert comparison.interval == (0, 0)
    assert comparison.p_value == 1


def test_a_clear_difference_is_found_both_ways(texts):
    references, a, _ = (column[:100] for column in texts)
    better, worse = (paired_bootstrap(Bleu(), *pair, references) for pair in ((a, references), (references, a)))
    assert better.difference == -worse.difference > 0
    assert better.p_value == worse.p_value == 2 / (RESAMPLES + 1)
    assert better.interval.low > 0 > worse.interval.high
    assert f"difference {better.difference:+.2f}" in f"{better}"


def test_p_values_of_equal_systems_are_spread_evenly():
    draw = random.Random(5)
    references = ["x"] * 60
    values = []
    for seed in range(200):
        a, b = ([draw.choice("xy") for _ in references] for _ in "ab")
        values.append(paired_bootstrap(ExactMatch(), a, b, references, resamples=200, seed=seed).p_value)
    below = sum(value < 0.05 for value in values) / len(values)
    assert below < 0.10  # 0.05 expected; three deviations are 0.046


def test_a_seed_gives_the_same_answer_again(texts):
    references, a, b = (column[:100] for column in texts)
    assert paired_bootstrap(Bleu(), a, b, references) == paired_bootstrap(Bleu(), a, b, references)
    assert paired_bootstrap(Bleu(), a, b, references) != paired_bootstrap(Bleu(), a, b, references, seed=1)


def test_a_thousand_resamples_of_a_thousand_sentences_take_seconds(texts):
    references, a, b = texts
    within(5.0, lambda: paired_bootstrap(Bleu(), a, b, references))


def rows(gains):
    """Statistics of texts that answer right more often by `gains` than the start, which has none right."""
    return np.stack([np.asarray(gains, np.float64), np.ones(len(gains))], axis=-1)


@pytest.mark.parametrize(
    ("gains", "p"),
    [([1] * 3, 1 / 8), ([1] * 5, 1 / 32), ([1, 1, 1, 1, -1], 6 / 32), ([5, 5, 5, 5, -1], 2 / 32), ([0] * 5, 1.0)],
)
def test_gain_of_one_step_by_hand(gains, p):
    assert gain_p_values(ExactMatch(), rows([0] * len(gains)), [rows(gains)]) == [p]


def test_gains_of_steps_are_tested_together():
    start, steps = rows([0] * 5), [rows([1] * 5), rows([1, 1, 1, 1, -1]), rows([9, -9, 0, 0, 0])]
    alone = [gain_p_values(ExactMatch(), start, [one])[0] for one in steps]
    together = gain_p_values(ExactMatch(), start, steps)
    assert (alone[0], together[0]) == (1 / 32, 2 / 32)  # one exchange gains as much in the second step
    assert all(one >= other for one, other in zip(together, alone, strict=True))
    many = gain_p_values(ExactMatch(), rows([0] * 40), [rows([1] * 40)])
    assert many == [1 / EXCHANGES]


def test_the_best_of_many_steps_gains_by_chance_rarely():
    draw, found = np.random.default_rng(1), []
    for _ in range(300):
        steps = [rows(scale * draw.normal(size=6)) for scale in (0.1, 1.0, 30.0)]
        found.append(min(gain_p_values(ExactMatch(), rows([0] * 6), steps)))
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5


def test_user_faults_are_told():
    with pytest.raises(ConfigError, match="resamples"):
        paired_bootstrap(Bleu(), ["a"], ["a"], ["a"], resamples=0)
    with pytest.raises(RegardError, match="2 hypotheses but 1 references"):
        paired_bootstrap(Bleu(), ["a"], ["a", "b"], ["a"])
