"""A forecast as a table, lines, JSON values and a plot."""

from collections.abc import Sequence
from functools import partial
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

from regard.reports.forecast.coefficients import read_coefficients
from regard.reports.forecast.forecast import MORE_PAIRS, NEAR_ZERO, Forecast, PairsFacts, Road
from regard.reports.forecast.learning_curve import Band
from regard.reports.forecast.unpaired import TextsFacts
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import Cell, Table, number_cell

_OTHER_DOMAIN = 2.0  # perplexity ratio from which text is of another domain


def forecast_report(forecast: Forecast, files: Sequence[Path] = ()) -> Report:
    """Report all roads; `files` are those of the pairs, or of both texts, for the commands."""
    heads = ["method", "BLEU", "80 % band", "chrF", "80 % band", "minutes"]
    firsts = ("with" if forecast.pairs is None else "+", *MORE_PAIRS)
    heads += [f"{firsts[0]} {more:,} pairs" for more in MORE_PAIRS]
    rows = [
        [
            Cell(road.name),
            *_cells(road.bleu),
            *_cells(road.chrf),
            number_cell(round(road.minutes, 1)),
            *(Cell(f"{road.more[more].middle:.1f} ({_ends(road.more[more])})") for more in MORE_PAIRS),
        ]
        for road in forecast.roads
    ]
    lines = [*_verdicts(forecast, files), *_basis(forecast)]
    return Report([Table(heads, rows)], _values(forecast), "\n".join(lines), partial(_picture, forecast))


def _cells(band: Band) -> list[Cell]:
    return [Cell(f"{band.middle:.1f}", band.middle), Cell(_ends(band))]


def _ends(band: Band) -> str:
    return f"{band.low:.1f} to {band.high:.1f}"


def _verdicts(forecast: Forecast, files: Sequence[Path]) -> list[str]:
    """Return the best road, and the roads that stay near zero."""
    best = forecast.best
    lines = []
    if all(road.hopeless for road in forecast.roads):
        lines.append(f"Every method will stay near zero (below {NEAR_ZERO:g} BLEU): more pairs are the way out.")
    else:
        lines.append(f"What pays: {best.name}, {best.bleu.middle:.0f} BLEU in {best.minutes:.1f} minutes.")
        lines += [
            f"{road.name}: will stay near zero in {forecast.minutes:g} minutes."
            for road in forecast.roads
            if road.hopeless
        ]
    lines += _command(best, forecast.minutes, files)
    if (longer := forecast.longer) is not None:
        minutes = ceil(longer.minutes)
        lines.append(f"More time pays: {longer.name}, {longer.bleu.middle:.0f} BLEU in {minutes} minutes.")
        lines += _command(longer, minutes, files)
    gain = best.more[MORE_PAIRS[0]].middle - best.bleu.middle
    if forecast.pairs is None:
        first = best.more[MORE_PAIRS[0]]
        lines.append(f"1,000 pairs had {first.middle:.0f} BLEU ({_ends(first)}) by phrases in the data sets measured.")
    else:
        lines.append(f"1,000 more pairs would bring {gain:+.1f} BLEU, 10,000 more {_gain(best):+.1f}.")
    return lines


def _gain(road: Road) -> float:
    return road.more[MORE_PAIRS[1]].middle - road.bleu.middle


def _command(road: Road, minutes: float, files: Sequence[Path]) -> list[str]:
    """Return the command of a road, on a line of its own."""
    if not files:
        return []
    names = [quote(str(file)) for file in files]
    texts = names[0] if len(names) == 1 else f"--source {names[0]} --target {names[1]}"
    return [
        {
            "phrases": f"  regard train {texts} task=phrases",
            "network": f"  regard train {texts} --minutes {minutes:g}",
            "both": f"  regard best {texts} --minutes {minutes:g}",
            "word by word": f"  regard train {' '.join(f'--text {name}' for name in names)} --run runs/without-pairs",
        }[road.name]
    ]


def _basis(forecast: Forecast) -> list[str]:
    """Return the inputs of the forecast."""
    known = read_coefficients()
    lines = []
    if (pairs := forecast.pairs) is not None:
        fits = ", ".join(f"{one.bleu:.1f} with {one.pairs:,}" for one in pairs.fits)
        lines.append(
            f"From phrases untuned ({fits} pairs), {pairs.updates(forecast.minutes):,.0f} updates of a network,"
        )
        lines.append(f"and {known.trainings} trainings of {known.data_sets} data sets, most of a few minutes.")
    if (texts := forecast.texts) is not None:
        lines += [
            f"{texts.shared_strings:.1%} of the frequent words are spelt alike in both languages.",
            f"Eigenvector distance {texts.eigenvector_distance:.0f}; mean CSLS {texts.mean_csls:.2f}; word by word, the"
            f" source is {texts.perplexity_ratio:.1f} times as perplexing as target text.",
        ]
    for side, ratio in forecast.overlaps.items():
        domain = "another domain than" if ratio >= _OTHER_DOMAIN else "the domain of"
        lines.append(
            f"The {side} text is of {domain} the pairs: perplexity {ratio:.1f} times that by the pairs themselves."
        )
    return lines


def _values(forecast: Forecast) -> dict[str, Any]:
    """Return the forecast as JSON values."""
    return {
        "minutes": forecast.minutes,
        "best": forecast.best.name,
        "longer": forecast.longer and forecast.longer.name,
        "roads": [
            {
                **road._asdict(),
                "bleu": road.bleu._asdict(),
                "chrf": road.chrf._asdict(),
                "more": {str(more): band._asdict() for more, band in road.more.items()},
                "near_zero": road.hopeless,
            }
            for road in forecast.roads
        ],
        "pairs": _pairs_values(forecast.pairs, forecast.minutes),
        "texts": _texts_values(forecast.texts),
        "overlaps": dict(forecast.overlaps),
    }


def _pairs_values(facts: PairsFacts | None, minutes: float) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {**facts._asdict(), "fits": [one._asdict() for one in facts.fits], "updates": facts.updates(minutes)}


def _texts_values(facts: TextsFacts | None) -> dict[str, Any] | None:
    return None if facts is None else facts._asdict()


def _picture(forecast: Forecast, ending: str) -> bytes:
    """Return BLEU over pairs: the fits, and each road with its band."""
    figure = new_figure(7, 4.5)
    axes = figure.subplots()
    start = 0 if forecast.pairs is None else forecast.pairs.pairs
    if forecast.pairs is not None:
        fits = forecast.pairs.fits
        axes.plot([one.pairs for one in fits], [one.bleu for one in fits], "k.", label="phrases, untuned (measured)")
    for place, road in enumerate(forecast.roads):
        bands = {start: road.bleu, **{start + more: band for more, band in road.more.items()}}
        middles = [band.middle for band in bands.values()]
        reach = [
            [band.middle - band.low for band in bands.values()],
            [band.high - band.middle for band in bands.values()],
        ]
        shifted = [count * (1 + 0.02 * place) for count in bands]
        axes.errorbar(shifted, middles, reach, marker="o", capsize=3, label=road.name)
    axes.set_xlabel("pairs")
    axes.set_ylabel("BLEU, 80 % band")
    axes.legend()
    return figure_bytes(figure, ending)
