"""regard words"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.options import Changes, Plot

ClassifierRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained classifier.")]
WordsLines = Annotated[int, typer.Option("--lines", min=1, help="Texts of the test part to look at.")]
Top = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Words that are told.")]
AtLeast = Annotated[int, typer.Option("--at-least", min=1, metavar="N", help="How often a word must have been read.")]
JsonWords = Annotated[bool, typer.Option("--json", help="One JSON object, with all words.")]


def words_command(
    run: ClassifierRun,
    changes: Changes = None,
    *,
    lines: WordsLines = 2000,
    top: Top = 50,
    at_least: AtLeast = 50,
    plot: Plot = None,
    as_json: JsonWords = False,
) -> None:
    """Tell which words a classifier's attention looks at most, and for which label each speaks in the training texts.

    A word is polar where the odds of a label are at least twice as high in texts that have it, and not by chance.

    regard words runs/reviews --plot words.svg
    """
    from regard.predictor import load
    from regard.reports import attended_words_report

    check_plot_file(plot)
    emit(attended_words_report(load(run, changes), lines, at_least, top, say), as_json=as_json, plot=plot)
