"""Figures of all runs together: JSON values, curves, scores by length, and whether a lead grows with length."""

import json
import math

import numpy as np
import pytest
from tasks import statistics_of

from regard.evaluation import METRICS, paired_bootstrap
from regard.registry import Choice
from regard.reports.compare.measure import Evaluator
from regard.reports.compare.statistics import gains
from regard.reports.compare.summary import SMALLEST_BUCKET, buckets_of, finite, halves_of
from regard.reports.compare.tables import comparison_markdown, gain_table, length_table
from regard.tasks import TranslationTask

METRIC = METRICS.build(Choice("exact_match"))
(EXACT,) = TranslationTask.measures([Choice("exact_match")])
SHORT, LONG = 40, 50  # sentences


@pytest.fixture
def exact() -> Evaluator:
    """40 sources of 3 words, then 50 of 12."""
    sources = ["a b c"] * SHORT + ["a b c d e f g h i j k l"] * LONG
    targets = [f"right {place}" for place in range(len(sources))]
    return Evaluator({"source": sources, "target": targets}, [EXACT], (), "bleu", None)


def right(judge: Evaluator, share_of_short: float, share_of_long: float, seed: int = 0):
    """The table of a system that has so many right of either."""
    draw = np.random.default_rng(seed)
    shares = np.where(np.arange(SHORT + LONG) < SHORT, share_of_short, share_of_long)
    pairs = zip(judge.test["target"], shares, strict=True)
    texts = [text if draw.random() < share else "wrong" for text, share in pairs]
    return statistics_of(EXACT, texts, judge.test), texts


def test_each_bucket_is_a_comparison_of_its_own_sentences(exact):
    (a, texts_a), (b, texts_b) = right(exact, 0.5, 0.2), right(exact, 0.6, 0.9, 1)
    short, long = buckets_of({"a": [a], "b": [b]}, exact, "a")
    assert [(one.words, one.sentences) for one in (short, long)] == [("1-5", SHORT), ("11-15", LONG)]
    for bucket, lines in ((short, slice(0, SHORT)), (long, slice(SHORT, None))):
        wanted = paired_bootstrap(METRIC, texts_a[lines], texts_b[lines], exact.test["target"][lines])
        assert bucket.figures[1].difference[:3] == (wanted.difference, wanted.interval, wanted.p_value)
        assert bucket.figures[0].difference is None


def test_a_lead_that_grows_with_length_is_found_and_one_that_does_not_is_not(exact):
    base, grown, even = ([right(exact, *shares)[0]] for shares in ((0.1, 0.1), (0.1, 0.9), (0.6, 0.6)))
    halves = halves_of({"base": base, "grown": grown, "even": even}, exact, "base")
    assert (halves.words, halves.shorter, halves.longer) == (3, SHORT, LONG)
    none, found, same = halves.gains
    assert none is None
    leads = [EXACT.value(table[rows].sum(axis=0)) - EXACT.value(base[0][rows].sum(axis=0))
             for table in grown for rows in (slice(SHORT, None), slice(0, SHORT))]  # fmt: skip
    assert found.value == pytest.approx(leads[0] - leads[1])
    assert found.interval.low > 0
    assert found.p_value < 0.01
    assert same.interval.low < 0 < same.interval.high


def test_the_interval_of_a_gain_is_that_of_independent_halves(exact):
    """Of exact match the variance of a mean is known."""
    base, other = right(exact, 0.0, 0.0)[0], right(exact, 0.5, 0.5)[0]
    some, rest = list(range(SHORT, SHORT + LONG)), list(range(SHORT))
    found = gains(EXACT, {"base": [base], "other": [other]}, "base", some, rest)["other"]
    shares = [other[rows, 0].mean() for rows in (some, rest)]
    sigma = 100 * sum(share * (1 - share) / len(rows) for share, rows in zip(shares, (some, rest), strict=True)) ** 0.5
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.96 * sigma, rel=0.1)


def test_seeds_that_are_lucky_throughout_tell_nothing_of_length(exact):
    """One run is right everywhere, the other nowhere: the lead hangs on the seed, its growth does not."""
    base, best = right(exact, 0.0, 0.0)[0], right(exact, 1.0, 1.0)[0]
    halves = halves_of({"base": [base] * 2, "two": [best, base]}, exact, "base")
    assert halves.gains[1][:3] == (0.0, (0.0, 0.0), 1.0)


def test_of_few_sentences_no_halves_are_made(exact):
    few = exact._replace(test={name: values[: SMALLEST_BUCKET + 20] for name, values in exact.test.items()})
    tables = {"a": [right(exact, 0.5, 0.5)[0][: SMALLEST_BUCKET + 20]]}
    assert halves_of({**tables, "b": tables["a"]}, few, "a") is None
    assert halves_of({"a": [right(exact, 0.5, 0.5)[0]]}, exact, "a") is None  # nobody to compare


def test_tables_and_json_tell_the_same(compared):
    found = compared({"good": 0.1, "poor": 0.6, "odd": 0.3}, baseline="poor")
    values = json.loads(json.dumps(found.values()))
    assert [row[0].text for row in length_table(found).rows] == ["good", "poor", "odd"]
    gains_of = gain_table(found)
    assert [row[0].text for row in gains_of.rows] == ["good", "odd"]
    for place, bucket in enumerate(values["by_length"], start=1):
        low, high = bucket["intervals"]["good"]
        assert length_table(found).rows[0][place].text == f"{bucket['values']['good']:.2f} ({low:.2f} to {high:.2f})"
        told = bucket["differences"]["good"]
        low, high = told["interval"]
        assert gains_of.rows[0][place].text == f"{told['difference']:+.2f} ({low:+.2f} to {high:+.2f})"
        assert bucket["sentences"] >= SMALLEST_BUCKET or len(values["by_length"]) == 1
    halves = values["by_half"]
    longer = f"over {halves['more_words_than']} ({halves['longer']})"
    assert gains_of.columns[-1] == f"{longer} less the rest ({halves['shorter']})"
    assert set(halves["gains"]) == {"good", "odd"}
    assert f"\n\n## BLEU: difference to poor by words of the source\n\n{gains_of.markdown()}\n" in comparison_markdown(
        found
    )


def test_the_values_are_json_and_tell_every_run(compared):
    told = compared({"good": 0.1, "poor": 0.6}, 3, command="regard compare").values()
    assert json.loads(json.dumps(finite(told), allow_nan=False)) == json.loads(json.dumps(told))
    poor = told["systems"][1]
    assert (told["baseline"], told["sentences"], told["command"]) == ("good", 120, "regard compare")
    assert [run["name"] for run in poor["runs"]] == ["poor-seed1", "poor-seed2", "poor-seed3"]
    assert poor["scores"]["BLEU"]["p_value"] < 0.05
    assert poor["scores"]["BLEU"]["difference"] < 0
    assert sum(bucket["sentences"] for bucket in told["by_length"]) == 120
    assert finite({"a": [math.nan, 1.0, (math.inf,)]}) == {"a": [None, 1.0, [None]]}


def test_a_curve_is_the_mean_over_the_seeds(compared):
    row = compared({"good": 0.1}, 3).rows[0]
    assert row.curve() == [(100, 10.0, 10.0, 10.0), (200, 22.0, 21.0, 23.0)]
