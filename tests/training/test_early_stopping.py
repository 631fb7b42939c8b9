"""The best updates, and when to stop waiting for a better one."""

import json
import math
from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluation import METRICS
from regard.tasks import TranslationTask
from regard.tasks.language_model import LanguageModelTask
from regard.tasks.task import measure_of
from regard.training.model_selection import EarlyStopping

LOSSES = [one.key for one in LanguageModelTask.likelihoods()]

SCORES = st.lists(st.integers(0, 5).map(float) | st.just(math.nan), max_size=12)


def stopping(metric, keep, patience):
    task = LanguageModelTask if metric in LOSSES else TranslationTask
    return EarlyStopping(metric, keep, patience, higher_is_better=measure_of(task, metric).higher_is_better)


def told(best, *scores):
    return [best.add(score, update) for update, score in enumerate(scores, 1)]


def test_higher_is_better_and_ties_are_none():
    assert told(stopping("bleu", 3, None), 1, 3, 2, 3, 4) == [True, True, False, False, True]


@pytest.mark.parametrize("metric", [*LOSSES, "ter", "repetition_rate", "untranslated_rate"])
def test_lower_is_better(metric):
    best = stopping(metric, 2, None)
    assert told(best, 5, 3, 4, 2) == [True, True, False, True]
    assert best.ranked == [(2, 4, None), (3, 2, None)]


def test_of_equal_scores_the_lower_loss_is_better_and_patience_runs_on():
    best = stopping("exact_match", 4, 3)
    assert [best.add(100, 1, 0.3), best.add(100, 2, 0.1), best.add(100, 3, 0.2)] == [True, True, False]
    assert [best.add(100, 4, math.nan), best.add(99, 5, 0.0)] == [False, False]
    assert (best.updates, best.waited, bool(best.ended)) == ([2, 3, 1, 4], 4, True)


def test_what_is_added_to_a_copy_stays_out_of_the_first():
    best = stopping("bleu", 2, 1)
    told(best, 1, 2)
    state = json.dumps(best.state())
    assert copy(best).add(3, 3)
    assert json.dumps(best.state()) == state


def test_a_state_without_losses_is_read():
    best = stopping("bleu", 2, 1)
    best.restore({"ranked": [[2.0, 7], [1.0, 3]], "waited": 0})
    assert best.updates == [7, 3]


def test_patience_is_a_number_of_validations_in_a_row():
    best, over = stopping("bleu", 1, 2), []
    for update, score in enumerate((1, 0, 2, 2, 1)):
        best.add(score, update)
        over.append(bool(best.ended))
    assert over == [False, False, False, False, True]


def test_no_patience_at_all_still_waits_for_the_first_validation():
    best = stopping("bleu", 1, 0)
    assert not best.ended
    assert [(best.add(score, 1), bool(best.ended)) for score in (1, 2, 2)] == [
        (True, False),
        (True, False),
        (False, True),
    ]


def test_every_metric_says_which_way_is_better():
    ways = {name: METRICS[name].higher_is_better for name in METRICS}
    worse = {name for name, way in ways.items() if way is False}
    assert worse == {
        *("brier", "calibration_error", "hamming_loss", "log_loss", "mean_absolute_error", "mean_squared_error"),
        *("repetition_rate", "ter", "untranslated_rate", "wrong_bits"),
    }
    assert [name for name, way in ways.items() if way is None] == ["length_ratio"]


def test_without_patience_it_is_never_over():
    best = stopping("bleu", 1, None)
    told(best, *[1] * 1000)
    assert not best.ended


@pytest.mark.parametrize("metric", ["bleu", "loss"])
def test_what_is_no_number_is_never_best_nor_kept(metric):
    best = stopping(metric, 3, 2)
    assert told(best, math.nan, 1, math.nan) == [False, True, False]
    assert best.updates == [2]
    best.add(math.nan, 4)
    assert best.ended


def test_an_update_without_a_checkpoint_is_forgotten():
    best = stopping("bleu", 3, None)
    told(best, 1, 3, 2)
    best.forget(2)
    assert best.updates == [3, 1]
    assert best.add(2.5, 4)


@given(SCORES, st.integers(1, 4), st.sampled_from(["bleu", "loss"]))
def test_the_k_best_are_those_of_a_sort(scores, keep, metric):
    best = stopping(metric, keep, None)
    told(best, *scores)
    sign = 1 if metric == "loss" else -1
    known = [(score, update, None) for update, score in enumerate(scores, 1) if not math.isnan(score)]
    assert best.ranked == sorted(known, key=lambda one: (sign * one[0], one[1]))[:keep]


@given(SCORES, st.integers(0, 12), st.sampled_from(["bleu", "loss"]))
def test_state_and_restore_go_on_as_if_unbroken(scores, cut, metric):
    whole, first, second = (stopping(metric, 2, 3) for _ in range(3))
    told(whole, *scores)
    told(first, *scores[:cut])
    second.restore(json.loads(json.dumps(first.state())))
    for update, score in enumerate(scores[cut:], len(scores[:cut]) + 1):
        second.add(score, update)
    assert (second.ranked, second.waited, second.ended) == (whole.ranked, whole.waited, whole.ended)
