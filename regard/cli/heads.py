"""regard heads"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_writable

if TYPE_CHECKING:
    from regard.reports.heads import HeadsReport

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Changes to the run.")]
Lines = Annotated[int, typer.Option("--lines", min=2, help="Dev examples to measure with.")]
Prune = Annotated[bool, typer.Option("--prune", help="Take more and more heads out: what does it cost?")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]


def heads_command(
    run: Run,
    changes: Changes = None,
    *,
    lines: Lines = 200,
    prune: Prune = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Tell what each head of attention looks at, and what it is worth: what is lost without it.

    regard heads runs/en-de

    --prune answers without the heads that matter least, a tenth to nine tenths of them, and without as many at random.

    regard heads runs/en-de --prune --plot heads.svg
    """
    from regard.reports.bench.report import check_plot
    from regard.reports.heads import report_heads
    from regard.reports.heads_view import as_values

    if plot is not None:
        check_plot(plot)
        check_writable(plot, "--plot")
    found = report_heads(run, changes or [], lines, prune, lambda text: print(text, file=sys.stderr))
    if as_json:
        print(json.dumps(as_values(found), ensure_ascii=False))
    else:
        _show(found)
    if plot is not None:
        _draw(found, plot, f"Heads of {run.name}, {found.examples} dev examples")


def _show(found: "HeadsReport") -> None:
    """Tables, as text on a terminal, else as Markdown, and what they say in one line."""
    from regard.reports.heads_view import heads_table, pruning_table, summary

    tables = [heads_table(found), *([pruning_table(found)] if found.pruning else [])]
    terminal = sys.stdout.isatty()
    print("\n".join(table.terminal() if terminal else table.markdown() for table in tables))
    print(summary(found))


def _draw(found: "HeadsReport", path: Path, title: str) -> None:
    from regard.reports.heads_view import plot

    path.write_bytes(plot(found, title=title, kind=path.suffix))
    print(f"wrote {path}", file=sys.stderr)
