"""regard forecast"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.best import BestDevSource, BestDevTarget, MoreSource, MoreTarget, PairsSource, PairsTarget
from regard.cli.emit import check_plot_file, emit, say_unless
from regard.cli.files import both_sides, named_pairs
from regard.cli.options import Json, Plot, Quiet, number_option

PairFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILES]", help="Two text files, or one file of pairs (.tsv, .csv, .jsonl, .tmx, .po)."),
]
ForecastMinutes = Annotated[float, number_option(min=0.01, help="Time limit of the training to forecast.")]


def forecast_command(
    files: PairFiles = None,
    *,
    minutes: ForecastMinutes = 60.0,
    source: PairsSource = None,
    target: PairsTarget = None,
    dev_source: BestDevSource = None,
    dev_target: BestDevTarget = None,
    text_source: MoreSource = None,
    text_target: MoreTarget = None,
    plot: Plot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast BLEU and chrF before training.

    Takes about half a minute: phrases are counted on subsets of the pairs, and a network is timed. Reports a phrase
    table, a network and both together.

    regard forecast train.en train.de --minutes 10
    regard forecast --source train.en --target train.de --dev-source dev.en --dev-target dev.de --minutes 60
    regard forecast --text-source one.en --text-target other.de
    """
    check_plot_file(plot)
    named, dev = named_pairs(files or [], source, target), both_sides("dev-", dev_source, dev_target)
    from regard.reports.forecast.forecast import forecast
    from regard.reports.forecast.forecast_report import forecast_report

    found = forecast(named, minutes, dev=dev, text_source=text_source, text_target=text_target, say=say_unless(quiet))
    texts = [file for file in (text_source, text_target) if file]
    emit(forecast_report(found, named or texts), as_json=as_json, plot=plot)
