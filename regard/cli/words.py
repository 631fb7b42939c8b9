"""regard words"""

from pathlib import Path
from typing import Annotated

from regard.cli.emit import check_plot_file, emit, say
from regard.cli.options import Changes, Json, Plot, integer_option, run_argument

ClassifierRun = Annotated[Path, run_argument(help="Folder of a classifier.")]
TestLines = Annotated[int, integer_option("--lines", min=1, help="Number of test texts, at most.")]
Top = Annotated[int, integer_option("--top", min=1, help="Number of words to print.")]
MinCount = Annotated[int, integer_option("--min-count", min=1, help="Minimum count of a word.")]


def words_command(
    run: ClassifierRun,
    changes: Changes = None,
    *,
    lines: TestLines = 2000,
    top: Top = 50,
    min_count: MinCount = 50,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """List the words with the most attention of a classifier.

    Reports the label that each word is associated with in the training data. A word is polar if it at least doubles
    the odds of a label, significantly.

    regard words runs/reviews --plot words.svg
    """
    from regard.predictor import load
    from regard.reports.attended_words import attended_words_report

    check_plot_file(plot)
    emit(attended_words_report(load(run, changes), lines, min_count, top, say), as_json=as_json, plot=plot)
