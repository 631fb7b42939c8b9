"""Forecasts: learning curves that are known, bands that hold what they promise, spectra by hand, one-line faults."""

import json
import random
from math import log, log2
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError, DataError
from regard.experiment import time_plan
from regard.reports.forecast.coefficients import NetworkFacts, read_coefficients
from regard.reports.forecast.forecast import Forecast, PairsFacts, PilotFit, Road, forecast, forecast_pairs, split_pairs
from regard.reports.forecast.forecast_report import forecast_report
from regard.reports.forecast.learning_curve import Band, LearningCurve, LinearFit, SlopePriors
from regard.reports.forecast.unpaired import (
    domain_overlap,
    eigenvector_distance,
    laplacian_spectrum,
    neighbour_graph,
    shared_strings,
    spectral_distance,
)
from regard.statistical.pair_checks import TextPair

PRIORS = SlopePriors((4.0, 2.0), (0.4, 0.3))
SIZES = [1_000, 2_000, 4_000]


def graph(edges, nodes):
    found = torch.zeros(nodes, nodes, dtype=torch.float64)
    for one, other in edges:
        found[one, other] = found[other, one] = 1
    return found


def facts(bleu=(10.0, 14.0, 18.0), seconds=0.1):
    fits = [PilotFit(size, score, 2 * score, 0.05, 1.0, 0.01) for size, score in zip(SIZES, bleu, strict=True)]
    return PairsFacts(4_000, fits, 64, seconds, 1.0, 300)


def road(name, middle, minutes=1.0):
    band = Band(middle / 2, middle, middle * 1.5)
    return Road(name, band, band, minutes, {1_000: band, 10_000: band})


def test_a_synthetic_power_law_is_recovered():
    scores = [0.5 * size**0.4 for size in SIZES]
    curve = LearningCurve.of(SIZES, scores, [0.001 * one for one in scores], PRIORS)
    assert curve.power_weight > 0.99
    assert curve.power.coefficients[1] / log(2) == pytest.approx(0.4, abs=0.005)
    assert curve.band(32_000).middle == pytest.approx(0.5 * 32_000**0.4, rel=0.02)


def test_a_synthetic_logarithm_is_recovered():
    scores = [3.5 * log2(size) - 25 for size in SIZES]
    curve = LearningCurve.of(SIZES, scores, [0.01] * 3, PRIORS)
    assert curve.power_weight < 0.01
    assert curve.band(32_000).middle == pytest.approx(3.5 * log2(32_000) - 25, rel=0.01)


def test_a_curve_without_evidence_has_the_slope_of_its_prior():
    curve = LearningCurve.of(SIZES, [10.0] * 3, [1e4] * 3, SlopePriors((4.0, 0.01), (0.4, 0.01)))
    assert curve.line.coefficients[1] == pytest.approx(4.0, abs=0.01)


def test_bands_hold_eight_of_ten_synthetic_figures():
    generator, inside = np.random.default_rng(3), 0
    truth = np.array([1.0, -2.0, 0.5])
    for _ in range(300):
        rows = np.column_stack([np.ones(9), generator.normal(size=(9, 2))])
        values = rows @ truth + generator.normal(0, 0.4, 9)
        fit = LinearFit.of(rows[:-1], values[:-1], prior=[0, 0, 0], prior_spreads=[5, 5, 5])
        row = rows[-1].tolist()
        inside += Band.of_samples(fit.samples(row, generator, 400)).holds(values[-1])
    assert 0.74 < inside / 300 < 0.86


def test_a_linear_fit_by_hand():
    # values 1 and 3 at 0 and 1: constant 1, slope 2; a weight of 2 is the row twice
    fit = LinearFit.of([[1, 0], [1, 1]], [1, 3], prior=[0, 0], prior_spreads=[1e4, 1e4], spread=1.0)
    np.testing.assert_allclose(fit.coefficients, [1, 2], atol=1e-6)
    rows, values = [[1, 0], [1, 1], [1, 2]], [1, 3, 4]
    twice = LinearFit.of([*rows, rows[0]], [*values, values[0]], prior=[0, 0], prior_spreads=[9, 9])
    weighted = LinearFit.of(rows, values, prior=[0, 0], prior_spreads=[9, 9], weights=[2, 1, 1])
    np.testing.assert_allclose(weighted.coefficients, twice.coefficients)
    assert weighted.spread == pytest.approx(twice.spread)


def test_spectra_by_hand():
    path, triangle = graph([(0, 1), (1, 2)], 3), graph([(0, 1), (1, 2), (0, 2)], 3)
    torch.testing.assert_close(laplacian_spectrum(path), torch.tensor([3.0, 1, 0], dtype=torch.float64))
    torch.testing.assert_close(laplacian_spectrum(triangle), torch.tensor([3.0, 3, 0], dtype=torch.float64))
    # 3 + 1 of 4 and 3 + 3 of 6 are the first to reach 90 %: two eigenvalues count, (3 - 3)² + (1 - 3)²
    assert spectral_distance(*map(laplacian_spectrum, (path, triangle))) == pytest.approx(4)


def test_graphs_of_one_spectrum_have_distance_zero():
    one = graph([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (3, 5), (4, 5)], 6)
    other = graph([(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 4), (2, 5)], 6)
    assert sorted(one.sum(dim=0).tolist()) != sorted(other.sum(dim=0).tolist())  # not the same graph renamed
    assert spectral_distance(*map(laplacian_spectrum, (one, other))) == pytest.approx(0, abs=1e-9)


def test_a_rotated_space_has_eigenvector_distance_zero():
    vectors = torch.nn.functional.normalize(torch.randn(60, 8, generator=torch.Generator().manual_seed(1)), dim=1)
    rotation, _ = torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(2)))
    shuffled = torch.randperm(60, generator=torch.Generator().manual_seed(3))
    assert eigenvector_distance(vectors, (vectors @ rotation)[shuffled]) == pytest.approx(0, abs=1e-6)
    stranger = torch.nn.functional.normalize(torch.randn(60, 8, generator=torch.Generator().manual_seed(4)), dim=1)
    assert eigenvector_distance(vectors, stranger) > 0.1


def test_neighbours_are_linked_both_ways():
    vectors = torch.tensor([[1.0, 0], [0.9, 0.1], [0, 1]])
    expected = graph([(0, 1), (1, 2)], 3)  # the third one's nearest is the second
    torch.testing.assert_close(neighbour_graph(torch.nn.functional.normalize(vectors, dim=1), 1), expected)


def test_shared_strings_by_hand():
    source = [[" Anna", " sees", " 7", " cats", "."], [" Anna", "!"]]
    assert shared_strings(source, [[" Anna", " sieht", " 7", " Katzen", "."]]) == 2 / 4  # signs do not count


def test_text_of_another_domain_is_more_perplexing():
    drawn = random.Random(1)

    def lines(words):
        return [" ".join(drawn.choices(words, k=6)) for _ in range(450)]

    animals = ["a", "dog", "and", "the", "cat", "run", "over", "grass"]
    side = lines(animals)
    assert domain_overlap(lines(animals), side) == pytest.approx(1, abs=0.1)
    assert domain_overlap(lines(["stocks", "fell", "as", "bonds", "rose", "today"]), side) > 2


def test_judged_lines_are_not_learnt_from():
    pairs = [TextPair(f"source {row}", f"target {row}") for row in range(400)] + [TextPair(" ", "empty")]
    known, held = split_pairs(pairs, (), seed=1)
    assert len(known) == 360 and len(held) == 40 and not {*known} & {*held}
    twice = [*pairs, *(TextPair(one.source.upper(), f"other {one.target}") for one in pairs[:400])]
    known, held = split_pairs(twice, (), seed=1)
    assert not {one.source.casefold() for one in known} & {one.source.casefold() for one in held}


def test_too_few_pairs():
    with pytest.raises(DataError, match="too few for a forecast"):
        split_pairs([TextPair("a", "b")] * 150, (), seed=1)


def test_more_time_and_more_pairs_are_worth_more():
    known = read_coefficients()
    short, long = (forecast_pairs(facts(), minutes, known) for minutes in (1.0, 30.0))
    networks = [next(one for one in found.roads if one.name == "network") for found in (short, long)]
    assert networks[0].bleu.middle < networks[1].bleu.middle
    for one in long.roads:
        assert one.bleu.low <= one.bleu.middle <= one.bleu.high
        assert one.bleu.middle < one.more[1_000].middle < one.more[10_000].middle


def test_the_relation_has_a_coefficient_for_each_feature():
    row = NetworkFacts(5_000, 300.0, 64.0).features()
    assert row == [1.0, pytest.approx(log(0.5)), 0.0]
    for fit in read_coefficients().network.values():
        assert len(fit.coefficients) == len(row)


def test_the_road_that_pays_fits_into_the_time():
    found = Forecast(2.0, [road("phrases", 20.0), road("both", 22.0, minutes=4.2)])
    assert (found.best.name, found.longer.name) == ("phrases", "both")
    summary = forecast_report(found, [Path("a.tsv")]).summary
    assert "both, 22 BLEU in 5 minutes" in summary and "regard best a.tsv --minutes 5\n" in summary
    assert Forecast(2.0, [road("phrases", 20.0), road("both", 20.5, minutes=5.0)]).longer is None
    assert Forecast(2.0, [road("phrases", 0.1), road("both", 1.5, minutes=5.0)]).longer is None  # both near zero


def test_both_take_as_long_as_phrases_at_least():
    found = forecast_pairs(facts()._replace(dev_lines=100_000), 1.0, read_coefficients())
    minutes = {one.name: one.minutes for one in found.roads}
    assert minutes["both"] == minutes["phrases"] > 1.0 and found.best.name == "network"
    assert {one.minutes for one in forecast_pairs(facts(), 60.0, read_coefficients()).roads[1:]} == {60.0}


def test_the_command_of_each_road_is_said():
    files = [Path("a b.en"), Path("a.de")]
    for name, command in (
        ("phrases", "regard train --source 'a b.en' --target a.de task=phrases"),
        ("network", "regard train --source 'a b.en' --target a.de --minutes 2"),
        ("both", "regard best --source 'a b.en' --target a.de --minutes 2"),
        ("word by word", "regard train --text 'a b.en' --text a.de --run runs/without-pairs"),
    ):
        assert f"  {command}\n" in forecast_report(Forecast(2.0, [road(name, 20.0)]), files).summary


def test_what_stays_near_zero_is_said():
    report = forecast_report(Forecast(2.0, [road("phrases", 20.0), road("network", 0.5)], facts()))
    assert "network: will stay near zero in 2 minutes." in report.summary
    assert "Every method will stay near zero" in forecast_report(Forecast(2.0, [road("network", 0.5)], facts())).summary


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(time_plan, "SECONDS", 0.01)
    nouns = {"dog": "Hund", "cat": "Katze", "bird": "Vogel", "fish": "Fisch", "horse": "Pferd"}
    verbs = {"sees": "sieht", "hears": "hört", "likes": "mag", "takes": "nimmt"}
    drawn, lines = random.Random(1), []
    while len(lines) < 240:
        words = [drawn.choice([*each.items()]) for each in (nouns, verbs, nouns, verbs, nouns)]
        pair = tuple(" ".join(word[side] for word in words) for side in (0, 1))
        lines += [pair] if pair not in lines else []
    for name, side in zip(("a.en", "a.de"), zip(*lines, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return tmp_path


def test_the_command_forecasts_three_roads(files):
    done = CliRunner().invoke(
        app, ["forecast", *map(str, (files / "a.en", files / "a.de")), "--minutes", "5", "--json", "-q"]
    )
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["roads"]] == ["phrases", "network", "both"]
    phrases = found["roads"][0]["bleu"]
    assert 0 < phrases["low"] <= phrases["middle"] <= phrases["high"] <= 100
    assert found["pairs"]["pairs"] == 216 and found["pairs"]["updates"] > 0


def test_few_lines_are_forecast_without_the_overlap_of_domains(files):
    said = list[str]()
    texts = files / "a.en", files / "a.de"
    found = forecast(texts, 5, text_target=texts[1], say=said.append)
    assert len(found.roads) == 3 and not found.overlaps
    assert "the target text is not compared" in said[0] and "240 pairs" in said[0]


def test_too_few_minutes(files):
    with pytest.raises(ConfigError, match="too few to learn anything"):
        forecast([files / "a.en", files / "a.de"], 0.0001)


def test_text_of_two_languages_alone(files):
    words = ["forecast", "--text-source", str(files / "a.en"), "--text-target", str(files / "a.de"), "--json", "-q"]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert [one["name"] for one in found["roads"]] == ["word by word"]
    assert found["texts"]["shared_strings"] == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "without pairs, text of both languages is needed"),
        (["{}/a.en"], "expected two text files, or one file"),
        (["{}/a.en", "{}/short.de"], "short.de has 1"),
        (["{}/empty.en", "{}/empty.en"], "the file is empty"),
        (["--source", "{}/a.en"], "--target: must be given"),
        (["{}/a.en", "{}/a.de", "--source", "{}/a.en", "--target", "{}/a.de"], "named twice"),
        (["{}/few.en", "{}/few.en"], "too few for a forecast"),
        (["{}/a.en", "{}/a.de", "--minutes", "0"], "must be at least 0.01"),
        (["--text-source", "{}/blank.en", "--text-target", "{}/a.de"], "has no lines"),
    ],
    ids=lambda one: "" if isinstance(one, list) else one[:20],
)
def test_bad_input_is_one_line(files, words, line):
    for name, text in (("empty.en", ""), ("blank.en", "\n\n"), ("short.de", "ein Hund\n"), ("few.en", "a dog\n" * 50)):
        (files / name).write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["forecast", *(word.format(files) for word in words), "-q"])
    assert done.exit_code == 2
    assert line in done.stderr and done.stderr.count("\n") == 1
