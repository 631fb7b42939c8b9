"""The coefficients of the forecast out of measured trainings, and a forecast of each data set by all the others."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from program import markdown, save

from regard.reports.forecast import (
    SCORES,
    Calibration,
    LinearFit,
    PairsFacts,
    PilotFit,
    TextsFacts,
    calibration_of,
    forecast_pairs,
)
from regard.reports.forecast.calibration import CALIBRATION
from regard.reports.forecast.forecast import MORE_PAIRS

Row = Mapping[str, Any]
_WIDE = (3.0, 1.0, 1.0, 1.0)  # deviations of the prior of a network's coefficients: constant, updates, pairs, length
_UNPAIRED = (3.0, 5.0, 1.0, 5.0)


def calibrate(rows: Sequence[Row], path: Path | None) -> None:
    """Write calibration.json, print what is forecast of each data set by the others, and save it as JSON."""
    kinds = by_kind(rows)
    CALIBRATION.write_text(json.dumps(coefficients(kinds), indent=1) + "\n", encoding="utf-8")
    networks, phrases = held_out(kinds, "network"), held_out(kinds, "phrases")
    for name, found in (("network", networks), ("phrases", phrases)):
        table = [
            (one["name"], f"{one['bleu']:.1f}", _band(one["bleu_band"]), f"{one['chrf']:.1f}", _band(one["chrf_band"]),
             f"{one['time']:.2f}") for one in found
        ]  # fmt: skip
        print(markdown([name, "BLEU", "forecast", "chrF", "forecast", "time forecast / time"], table))
        for score in SCORES:
            inside = sum(one[f"{score}_band"][0] <= one[score] <= one[f"{score}_band"][2] for one in found)
            print(f"{score}: {inside} of {len(found)} inside the 80 % band")
        print(f"time within 25 %: {sum(0.8 <= one['time'] <= 1.25 for one in found)} of {len(found)}\n")
    save(path, {"network": networks, "phrases": phrases})


def by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each kind."""
    kinds = defaultdict[str, list[Row]](list)
    for row in rows:
        how = row["name"].rpartition(":")[2]
        kinds["network" if how[0].isdigit() else how].append(row)
    return kinds


def data_set(row: Row) -> str:
    """Return the data set of a row, whatever the direction."""
    name: str = row["name"].partition("/")[0]
    return name


def facts_of(row: Row) -> PairsFacts:
    """Return the facts of a row."""
    return PairsFacts(**{**row["facts"], "fits": [PilotFit(**one) for one in row["facts"]["fits"]]})


def coefficients(kinds: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the calibration as JSON values."""
    networks = kinds["network"]
    found: dict[str, Any] = {"trainings": len(networks), "data_sets": len({*map(data_set, networks)})}
    found["network"] = {score: _values(network_fit(networks, score)) for score in SCORES}
    found["slopes"] = {score: slopes(kinds["curve"], score) for score in SCORES}
    found["tuning"] = {
        score: _spread([np.log(row[score] / row["untuned"][score]) for row in kinds["phrases"]]) for score in SCORES
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


def network_fit(rows: Sequence[Row], score: str) -> LinearFit:
    """Return the relation of networks to phrases, by the updates that there were."""
    known = [(facts_of(row), row) for row in rows]
    features = [facts.network(facts.pairs, 1.0)._replace(updates=row["updates"]).features() for facts, row in known]
    values = [np.log((row[score] + 1) / (getattr(facts.fits[-1], score) + 1)) for facts, row in known]
    return LinearFit.of(features, values, prior=[0.0] * len(_WIDE), prior_spreads=_WIDE)


def slopes(rows: Sequence[Row], score: str) -> list[list[float]]:
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


def gain_of_both(row: Row) -> float:
    """Return the logarithm of what is gained over the better one, at equal scores."""
    alone = sorted((row["phrases"]["bleu"], row["network"]["bleu"]))
    return float(np.log(row["bleu"] / alone[1]) * alone[1] / max(alone[0], 0.5))


def phrases_seconds(rows: Sequence[Row]) -> list[float]:
    """Return start-up, the factor of counting, and how often a dev line is translated, by least squares, none below 0."""
    terms, spent = list[list[float]](), [row["core_seconds"] for row in rows]
    for facts in map(facts_of, rows):
        last = facts.fits[-1]
        terms.append([1.0, last.seconds * facts.pairs / last.pairs, last.decoding * facts.dev_lines])
    kept = [0, 1, 2]
    while True:
        found = np.linalg.lstsq(np.array(terms)[:, kept], np.array(spent), rcond=None)[0]
        if (found >= 0).all():
            break
        kept.pop(int(found.argmin()))
    return [float(found[kept.index(place)]) if place in kept else 0.0 for place in range(3)]


def held_out(kinds: Mapping[str, Sequence[Row]], kind: str) -> list[dict[str, Any]]:
    """Forecast each row by what was measured of other data sets; the time is that of processor, on one thread."""
    found = []
    for row in kinds[kind]:
        others = {name: [one for one in rows if data_set(one) != data_set(row)] for name, rows in kinds.items()}
        known = calibration_of(coefficients(others))
        found.append({"name": row["name"], **{score: row[score] for score in SCORES}, **forecast_of(row, kind, known)})
    return found


def forecast_of(row: Row, kind: str, known: Calibration) -> dict[str, Any]:
    """Return the bands of a row, and its time as a share of what it was."""
    facts = facts_of(row)
    core = float(row["name"].rpartition(":")[2]) if kind == "network" else 1.0
    forecast = forecast_pairs(facts, core / facts.core_share, known)
    (road,) = [one for one in forecast.roads if one.name == kind]
    if kind == "network":
        pace = facts.updates(core / facts.core_share) / (core * 60)  # updates in a second of a core, validations counted
        time = row["updates"] / pace / row["core_seconds"]
    else:
        time = road.minutes * 60 * min(1.0, max(0.1, facts.core_share)) / row["core_seconds"]
    return {"bleu_band": road.bleu, "chrf_band": road.chrf, "time": time}


def _values(fit: LinearFit) -> dict[str, Any]:
    return {"coefficients": fit.coefficients.tolist(), "covariance": fit.covariance.tolist(), "spread": fit.spread}


def _spread(values: Sequence[float]) -> list[float]:
    return [float(np.mean(values)), float(np.std(values, ddof=1))]


def _band(band: Sequence[float]) -> str:
    return f"{band[1]:.1f} ({band[0]:.1f} to {band[2]:.1f})"
