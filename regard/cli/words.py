"""regard words"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.files import check_writable

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained classifier.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Changes to the run.")]
Lines = Annotated[int, typer.Option("--lines", min=1, help="Texts of the test part to look at.")]
Top = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Words that are told.")]
AtLeast = Annotated[int, typer.Option("--at-least", min=1, metavar="N", help="How often a word must have been read.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, with all words.")]


def words_command(
    run: Run,
    changes: Changes = None,
    *,
    lines: Lines = 2000,
    top: Top = 50,
    at_least: AtLeast = 50,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Tell which words a classifier's attention looks at most, and for which label each speaks in the training texts.

    A word is polar where the odds of a label are at least twice as high in texts that have it, and not by chance.

    regard words runs/reviews --plot words.svg
    """
    from regard.reports.attended_words import as_values, attended_words, summary, words_table
    from regard.reports.attended_words import plot as picture
    from regard.reports.bench.report import check_plot

    if plot is not None:
        check_plot(plot)
        check_writable(plot, "--plot")
    found = attended_words(run, changes or [], lines, at_least, lambda text: print(text, file=sys.stderr))
    if as_json:
        print(json.dumps(as_values(found, top), ensure_ascii=False))
    else:
        table = words_table(found, top)
        print(table.terminal() if sys.stdout.isatty() else table.markdown())
        print(summary(found, top))
    if plot is not None:
        plot.write_bytes(picture(found, title=f"Words that {run.name} looks at", kind=plot.suffix))
        print(f"wrote {plot}", file=sys.stderr)
