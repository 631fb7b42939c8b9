"""The coefficients of the forecast out of measured trainings, and a forecast of each data set by all the others."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from program import markdown, save

from regard.experiment.time_plan import TRAINING
from regard.reports.forecast.coefficients import COEFFICIENTS, FORECAST_SCORES, Coefficients, coefficients_of
from regard.reports.forecast.forecast import MORE_PAIRS, PairsFacts, PilotFit, forecast_pairs
from regard.reports.forecast.learning_curve import Band, LinearFit, SlopePriors
from regard.reports.forecast.unpaired import TextsFacts

Row = Mapping[str, Any]
_PRIOR, _WIDE = (0.0, 1.5, 0.1), (0.5, 1.0, 0.2)  # of a network's coefficients: constant, updates, pairs
_SECONDS = (6.0, 1.3, 20.0)  # expected: start-up, the factor of counting, translations of a dev line
_EXPECTED = (0.2, 2.0)  # of the spread of a network's residuals, and its weight
_UNPAIRED = (3.0, 5.0, 1.0, 5.0)  # deviations of the prior of those of word-by-word translation
_COLUMNS = {"bleu": 2, "chrf": 3}  # of the values of a validation
_FIRST_UPDATE = 150  # of the validations that count


def calibrate(rows: Sequence[Row], path: Path | None) -> None:
    """Write coefficients.json, print what is forecast of each data set by the others, and save it as JSON."""
    kinds = by_kind(rows)
    COEFFICIENTS.write_text(json.dumps(measured_coefficients(kinds), indent=1) + "\n", encoding="utf-8")
    results = {kind: held_out(kinds, kind) for kind in ("network", "documented", "long", "phrases")}
    for name, found in results.items():
        table = [
            (one["name"], f"{one['bleu']:.1f}", _band(one["bleu_band"]), f"{one['chrf']:.1f}", _band(one["chrf_band"]),
             f"{one['time']:.2f}" if one["time"] else "") for one in found
        ]  # fmt: skip
        print(markdown([name, "BLEU", "forecast", "chrF", "forecast", "time forecast / time"], table))
        for score in FORECAST_SCORES:
            inside = sum(one[f"{score}_band"][0] <= one[score] <= one[f"{score}_band"][2] for one in found)
            print(f"{score}: {inside} of {len(found)} inside the 80 % band")
        times = [one["time"] for one in found if one["time"]]
        print(f"time within 25 %: {sum(0.75 <= time <= 1.25 for time in times)} of {len(times)}\n")
    print("validations of networks inside: {} of {}".format(*validations_inside(kinds)))
    print("\nlearning curves of phrases beyond the largest fit")
    print(markdown(["doublings", "forecasts", "inside the 80 % band", "mean error"], curves_inside(kinds["curve"])))
    save(path, results)


def by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each kind."""
    kinds = defaultdict[str, list[Row]](list)
    for row in rows:
        how = row["name"].rpartition(":")[2]
        kinds["network" if how[0].isdigit() else how.rstrip("0123456789")].append(row)
    return kinds


def data_set(row: Row) -> str:
    """Return the data set of a row, whatever the direction."""
    name: str = row["name"].partition("/")[0]
    return name


def facts_of(row: Row) -> PairsFacts:
    """Return the facts of a row."""
    return PairsFacts(**{**row["facts"], "fits": [PilotFit(**one) for one in row["facts"]["fits"]]})


def measured_coefficients(kinds: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the calibration as JSON values."""
    networks = [*kinds["network"], *kinds["documented"], *kinds["long"]]
    found: dict[str, Any] = {"trainings": len(networks), "data_sets": len({*map(data_set, networks)})}
    found["slopes"] = {score: slopes(kinds["curve"], score) for score in FORECAST_SCORES}
    found["network"] = {
        score: _values(network_fit(networks, score, SlopePriors(*found["slopes"][score]))) for score in FORECAST_SCORES
    }
    found["tuning"] = {
        score: _spread([gain_of_tuning(row, score, SlopePriors(*found["slopes"][score])) for row in kinds["phrases"]])
        for score in FORECAST_SCORES
    }
    found["both"] = _spread([gain_of_both(row) for row in kinds["both"]])
    found["phrases_seconds"] = phrases_seconds(kinds["phrases"])
    texts = [TextsFacts(**row["facts"]).features() for row in kinds["unpaired"]]
    words = LinearFit.of(
        texts, [np.log(row["bleu"] + 0.1) for row in kinds["unpaired"]], prior=[0.0] * 4, prior_spreads=_UNPAIRED
    )
    found["unpaired"] = _values(words)
    found["unpaired_chrf"] = np.percentile([row["chrf"] for row in kinds["unpaired"]], (10, 50, 90)).tolist()
    gain = np.exp(found["tuning"]["bleu"][0])
    found["first_pairs"] = {
        str(pairs): np.percentile([gain * at(row, pairs) for row in kinds["curve"]], (10, 50, 90)).tolist()
        for pairs in MORE_PAIRS
    }
    return found


def network_fit(rows: Sequence[Row], score: str, priors: SlopePriors) -> LinearFit:
    """Return the relation of networks to phrases; the validations of a training count together as one training."""
    features, values, weights = list[list[float]](), list[float](), list[float]()
    for row in rows:
        facts, column = facts_of(row), _COLUMNS[score]
        phrases = facts.curve(score, priors).band(facts.pairs).middle
        points = [one for one in row["curve"] if one[0] >= _FIRST_UPDATE] or row["curve"][-1:]
        best = 0.0
        for point in points:  # what a training of so many updates keeps is the best so far
            best = max(best, point[column])
            network = facts.network(facts.pairs, 1.0)._replace(updates=point[0])
            features.append(network.features())
            values.append(float(np.log((best + 1) / (phrases + 1))))
            weights.append(1 / len(points))
    return LinearFit.of(features, values, prior=_PRIOR, prior_spreads=_WIDE, weights=weights, expected=_EXPECTED)


def slopes(rows: Sequence[Row], score: str) -> list[tuple[float, float]]:
    """Return means and deviations of the slopes of learning curves: for each doubling, and as exponents."""
    lines, powers = list[float](), list[float]()
    for row in rows:
        sizes, scores = (np.array([one[name] for one in row["fits"]]) for name in ("pairs", score))
        lines.append(float(np.polyfit(np.log2(sizes), scores, 1)[0]))
        powers.append(float(np.polyfit(np.log(sizes), np.log(scores), 1)[0]))
    return [_spread(lines), _spread(powers)]


def at(row: Row, pairs: int) -> float:
    """Return the BLEU of a learning curve at a number of pairs, by a line of their logarithm."""
    sizes, scores = ([one[name] for one in row["fits"]] for name in ("pairs", "bleu"))
    slope = np.polyfit(np.log2(sizes), scores, 1)[0]
    return float(np.interp(np.log2(pairs), np.log2(sizes), scores) + slope * max(0.0, np.log2(pairs / sizes[-1])))


def gain_of_tuning(row: Row, score: str, priors: SlopePriors) -> float:
    """Return the logarithm of tuned phrases on test lines over untuned ones by the curve, which is of dev lines."""
    facts = facts_of(row)
    return float(np.log(row[score] / facts.curve(score, priors).band(facts.pairs).middle))


def gain_of_both(row: Row) -> float:
    """Return the logarithm of what is gained over the better one, at equal scores."""
    alone = sorted((row["phrases"]["bleu"], row["network"]["bleu"]))
    return float(np.log(row["bleu"] / alone[1]) * alone[1] / max(alone[0], 0.5))


def phrases_seconds(rows: Sequence[Row]) -> list[float]:
    """Return start-up, the factor of counting, and how often a dev line is translated."""
    terms, timed = list[list[float]](), [row for row in rows if row["core_seconds"]]
    for facts in map(facts_of, timed):
        last = facts.fits[-1]
        terms.append([1.0, last.seconds * facts.pairs / last.pairs, last.decoding * facts.dev_lines])
    found = LinearFit.of(
        terms,
        [row["core_seconds"] for row in timed],
        prior=_SECONDS,
        prior_spreads=[one / 2 for one in _SECONDS],
        spread=3.0,
    )
    return np.maximum(found.coefficients, 0.0).tolist()


def held_out(kinds: Mapping[str, Sequence[Row]], kind: str) -> list[dict[str, Any]]:
    """Forecast each row by what was measured of other data sets; the time is that of processor, on one thread."""
    found = []
    for row in kinds[kind]:
        others = {name: [one for one in rows if data_set(one) != data_set(row)] for name, rows in kinds.items()}
        known = coefficients_of(measured_coefficients(others))
        found.append(
            {"name": row["name"], **{score: row[score] for score in FORECAST_SCORES}, **forecast_of(row, kind, known)}
        )
    return found


def validations_inside(kinds: Mapping[str, Sequence[Row]]) -> tuple[int, int]:
    """Count the validations of networks, and those whose best BLEU so far is inside the band for their updates.

    Those of one training are alike, so they are fewer than they seem.
    """
    inside = total = 0
    for row in kinds["network"]:
        others = {name: [one for one in rows if data_set(one) != data_set(row)] for name, rows in kinds.items()}
        known, best = coefficients_of(measured_coefficients(others)), 0.0
        for update, _, bleu, _ in row["curve"]:
            best = max(best, bleu)
            if update >= _FIRST_UPDATE:
                minutes = update * facts_of(row).seconds / 60 / TRAINING
                road = forecast_pairs(facts_of(row), minutes, known).roads[1]
                inside, total = inside + road.bleu.holds(best), total + 1
    return inside, total


def curves_inside(curves: Sequence[Row]) -> list[tuple[int, int, int, float]]:
    """Forecast larger fits of phrases from three smaller ones, by the slopes of other data sets.

    Return, for 1, 2 … doublings, the forecasts, those whose band holds, and the mean error as a share of the score.
    """
    found = defaultdict[int, list[tuple[bool, float]]](list)
    for row in curves:
        others = [one for one in curves if data_set(one) != data_set(row)]
        priors = SlopePriors(*slopes(others, "bleu"))
        fits = [PilotFit(**one) for one in row["fits"]]
        for last in range(2, len(fits)):
            facts = PairsFacts(fits[last].pairs, fits[last - 2 : last + 1], 64, 0.1, 1.0, 300)
            for later in fits[last + 1 :]:
                band = Band.of_samples(facts.phrase_samples("bleu", later.pairs, priors))
                doublings = round(np.log2(later.pairs / fits[last].pairs))
                found[doublings].append((band.holds(later.bleu), abs(band.middle / later.bleu - 1)))
    return [
        (doublings, len(each), sum(held for held, _ in each), float(np.mean([error for _, error in each])))
        for doublings, each in sorted(found.items())
    ]


def forecast_of(row: Row, kind: str, known: Coefficients) -> dict[str, Any]:
    """Return the bands of a row, and its time as a share of what it was."""
    facts = facts_of(row)
    core = float(row["name"].rpartition(":")[2]) if kind == "network" else 1.0
    minutes = core / facts.core_fraction
    if kind in ("documented", "long"):  # whose updates are known, and not its time
        minutes = row["updates"] * facts.seconds / 60 / TRAINING
    forecast = forecast_pairs(facts, minutes, known)
    (road,) = [one for one in forecast.roads if one.name == ("phrases" if kind == "phrases" else "network")]
    if kind == "network":
        pace = facts.updates(core / facts.core_fraction) / (
            core * 60
        )  # updates in a second of a core, validations counted
        time = row["updates"] / pace / row["core_seconds"]
    elif kind != "phrases" or not row["core_seconds"]:
        time = None
    else:
        time = road.minutes * 60 * min(1.0, max(0.1, facts.core_fraction)) / row["core_seconds"]
    return {"bleu_band": road.bleu, "chrf_band": road.chrf, "time": time}


def _values(fit: LinearFit) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in fit._asdict().items()}


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and deviation; where there are two values or fewer, the deviation is at least a tenth."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)) if values else 0.0, spread if len(values) > 2 else max(0.1, spread)


def _band(band: Sequence[float]) -> str:
    return f"{band[1]:.1f} ({band[0]:.1f} to {band[2]:.1f})"
