"""How sure a comparison over several seeds is: against the comparison of two texts, plain loops, and by hand."""

import math
import random

import numpy as np
import pytest
from tasks import statistics_of

from regard.evaluation import METRICS, paired_bootstrap
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import RESAMPLING_SEED, confidence_interval
from regard.registry import Choice
from regard.reports.compare.statistics import _mcnemar, figures, spread
from regard.tasks import TranslationTask

METRIC = METRICS.build(Choice("bleu"))
BLEU, EXACT = TranslationTask.measures([Choice("bleu"), Choice("exact_match")])
REFERENCES = [f"the {word} sees a house by the river" for word in ("cat", "dog", "man", "owl", "fox", "hen")] * 5


def written(share: float, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [text.replace("house by", "tree of") if draw.random() < share else text for text in REFERENCES]


def table(lines, metric=BLEU):
    return statistics_of(metric, lines, {"target": REFERENCES})


def constant(value: float, count: int = 20):
    """Sentences that all are right, or all wrong, for exact match."""
    return np.array([[value, 1.0]] * count)


def test_with_one_seed_it_is_the_comparison_of_two_texts():
    a, b = written(0.5, 1), written(0.1, 2)
    found = figures(BLEU, {"a": [table(a)], "b": [table(b)]}, "a")
    oracle = paired_bootstrap(METRIC, a, b, REFERENCES)
    assert found["b"].difference[:3] == (oracle.difference, oracle.interval, oracle.p_value)
    assert (found["a"].mean, found["b"].mean) == (oracle.a.value, oracle.b.value)
    for name, lines in (("a", a), ("b", b)):
        interval = confidence_interval(METRIC, lines, REFERENCES)
        assert (found[name].interval, found[name].intervals) == (interval, (interval,))
        assert found[name].spread is None
    assert found["a"].difference is None


def test_with_several_seeds_it_is_what_plain_loops_find():
    runs = {"a": [written(0.5, 1), written(0.6, 2)], "b": [written(0.3, seed) for seed in (3, 4, 5)]}
    tables = {name: [table(lines) for lines in several] for name, several in runs.items()}
    resamples, count = 60, len(REFERENCES)
    sentences = np.random.default_rng(RESAMPLING_SEED)
    lines = [sentences.choice(count, size=count, replace=True) for _ in range(resamples)]
    means = {}
    for number, (name, several) in enumerate(tables.items()):
        seeds = np.random.default_rng(RESAMPLING_SEED + 1 + number).integers(
            len(several), size=(resamples, len(several))
        )
        means[name] = [
            sum(BLEU.value(sum(several[one][line] for line in drawn)) for one in chosen) / len(several)
            for drawn, chosen in zip(lines, seeds.tolist(), strict=True)
        ]
    differences = sorted(b - a for a, b in zip(means["a"], means["b"], strict=True))
    fewer = min(sum(one <= 0 for one in differences), sum(one >= 0 for one in differences))
    found = figures(BLEU, tables, "a", resamples=resamples)["b"]
    assert found.difference.p_value == min(1.0, 2 * (fewer + 1) / (resamples + 1))
    assert found.difference.interval == pytest.approx(np.percentile(differences, [2.5, 97.5]), abs=1e-9)
    assert found.interval == pytest.approx(np.percentile(means["b"], [2.5, 97.5]), abs=1e-9)


def test_the_mean_and_the_spread_by_hand():
    found = figures(EXACT, {"a": [constant(1.0), constant(0.0), constant(1.0)]}, "a")["a"]
    assert found.values == (100.0, 0.0, 100.0)
    assert found.mean == pytest.approx(200 / 3)
    assert found.spread == pytest.approx(math.sqrt((2 * (100 / 3) ** 2 + (200 / 3) ** 2) / 2))
    assert spread([3.0]) is None


def test_a_difference_that_never_turns_round_has_the_smallest_p_value_there_is():
    found = figures(EXACT, {"a": [constant(0.0)] * 2, "b": [constant(1.0)] * 2}, "a", resamples=199)["b"]
    assert found.difference[:3] == (100.0, (100.0, 100.0), 2 / 200)


def test_systems_that_are_the_same_do_not_differ():
    found = figures(EXACT, {"a": [constant(1.0)] * 2, "b": [constant(1.0)] * 2}, "a")["b"]
    assert found.difference[:3] == (0.0, (0.0, 0.0), 1.0)


def right(*answers):
    return np.array([[one, 1] for one in answers], np.float64)


def test_runs_are_paired_by_the_signed_ranks_of_their_differences():
    """Each of three runs of b is better: 2 of 8 signs are as far from the middle."""
    tables = {"a": [right(0, 0), right(1, 0), right(0, 0)], "b": [right(1, 0), right(1, 1), right(1, 1)]}
    found = figures(EXACT, tables, "a")["b"].difference
    assert (found.wilcoxon, found.mcnemar) == (pytest.approx(2 / 8), None)  # texts are the same for all runs
    assert figures(EXACT, tables, "a", paired=False)["b"].difference.wilcoxon is None


@pytest.mark.parametrize("folds", [False, True])
def test_answers_of_one_run_or_of_all_folds_are_paired(folds):
    pairs = [(right(0, 0, 1, 1), right(1, 1, 1, 0)), (right(0, 0), right(1, 1))][: 1 + folds]
    found = figures(EXACT, {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}, "a", folds=folds)["b"].difference
    assert (found.mcnemar.only_a, found.mcnemar.only_b) == ((1, 4) if folds else (1, 2))
    assert (found.wilcoxon is None) is not folds


def test_folds_that_know_other_labels_have_no_test_of_right_answers():
    """Tables of F1 have columns for each label, and a fold may lack one."""
    folds = (["x", "y", "z"], ["x", "z", "y"]), (["x", "y", "y"], ["x", "y", "x"])
    tables = [METRICS.build(Choice("f1")).statistics(corpus_of(*fold)) for fold in folds]
    assert tables[0].shape[1] > tables[1].shape[1]
    assert _mcnemar(EXACT, tables, tables, folds=True) is None  # by the width of the tables alone


def test_a_difference_that_hangs_on_the_seed_is_not_sure():
    """The mean of b is 50 above a, whatever the sentences; but half of its seeds are no better."""
    found = figures(EXACT, {"a": [constant(0.0)] * 2, "b": [constant(1.0), constant(0.0)]}, "a")["b"]
    assert found.difference.value == 50
    assert found.difference.p_value > 0.3  # in a quarter of the draws both seeds are the poor one


def test_any_system_may_be_the_baseline():
    tables = {"a": [table(written(0.5, 1))], "b": [table(written(0.1, 2))]}
    one, other = figures(BLEU, tables, "a")["b"].difference, figures(BLEU, tables, "b")["a"].difference
    assert (one.value, one.p_value) == (-other.value, other.p_value)


def test_with_folds_sentences_are_drawn_fold_by_fold_and_folds_for_all_alike():
    counts, resamples = [30, 20, 25], 60
    draw = np.random.default_rng(7)
    tables = {
        name: [np.stack([draw.random(count) < share, np.ones(count)], axis=1).astype(float) for count in counts]
        for name, share in (("a", 0.5), ("b", 0.8))
    }
    drawn = []
    for fold, count in enumerate(counts):
        sentences = np.random.default_rng(RESAMPLING_SEED + fold)
        drawn.append([sentences.choice(count, size=count, replace=True) for _ in range(resamples)])
    folds = np.random.default_rng(RESAMPLING_SEED + 1).integers(len(counts), size=(resamples, len(counts)))
    means = {name: [] for name in tables}
    for resample, chosen in enumerate(folds.tolist()):
        for name, several in tables.items():
            values = [EXACT.value(several[fold][drawn[fold][resample]].sum(axis=0)) for fold in chosen]
            means[name].append(sum(values) / len(values))
    differences = sorted(b - a for a, b in zip(means["a"], means["b"], strict=True))
    found = figures(EXACT, tables, "a", folds=True, resamples=resamples)
    assert found["b"].difference.interval == pytest.approx(np.percentile(differences, [2.5, 97.5]), abs=1e-9)
    assert found["a"].interval == pytest.approx(np.percentile(means["a"], [2.5, 97.5]), abs=1e-9)
    assert found["b"].values == tuple(100 * one[:, 0].mean() for one in tables["b"])
