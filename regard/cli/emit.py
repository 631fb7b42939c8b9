"""The one place where a command prints a report as text or JSON, and writes its files."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.files import check_writable
from regard.cli.group import INTERRUPTED

if TYPE_CHECKING:
    from regard.reports.report import Report


def say(line: str) -> None:
    """Print a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


def say_unless(quiet: bool) -> Callable[[str], None]:
    """Return `say`, or what says nothing."""
    return (lambda line: None) if quiet else say


@contextmanager
def resumable(next_step: str = "go on with the same command") -> Iterator[None]:
    """End with the exit code of what can be resumed, where training was interrupted, and print the next step."""
    from regard.training.interrupt import Interrupted

    try:
        yield
    except Interrupted as interrupted:
        say(f"{interrupted}; {next_step}")
        raise typer.Exit(INTERRUPTED) from interrupted


def check_plot_file(plot: Path | None) -> None:
    """Raise RegardError, before anything is measured, where no plot can be made or written."""
    if plot is not None:
        from regard.reports.report import check_plot

        check_plot(plot)
        check_writable(plot, "--plot")


def emit(
    report: "Report",
    *,
    as_json: bool,
    plot: Path | None = None,
    files: Mapping[str, Path | None] = MappingProxyType({}),
    indent: int | None = None,
) -> None:
    """Print a report, as one JSON object or as text, and write its figures: of a plot, and of files by their kind."""
    if as_json:
        print_json(report.values, indent=indent)
    else:
        print(report.text(terminal=sys.stdout.isatty()), end="")
    for ending, path in {"" if plot is None else plot.suffix: plot, **files}.items():
        if path is not None and report.figure is not None and (content := report.figure(ending)):
            write_file(path, content)


def print_json(values: Any, *, indent: int | None = None) -> None:
    """Print JSON values on stdout."""
    print(json.dumps(values, ensure_ascii=False, indent=indent))


def write_file(path: Path, content: bytes) -> None:
    """Write a file and report it on stderr."""
    path.write_bytes(content)
    say(f"wrote {path}")
