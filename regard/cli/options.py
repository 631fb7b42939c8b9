"""Options and arguments that several commands share."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from regard.errors import CheckpointError

file_option, folder_option = partial(typer.Option, metavar="FILE"), partial(typer.Option, metavar="FOLDER")
name_option, integer_option = partial(typer.Option, metavar="NAME"), partial(typer.Option, metavar="INTEGER")
number_option, data_option = partial(typer.Option, metavar="NUMBER"), partial(file_option, rich_help_panel="Data")


RUNS = "regard.runs"  # in the meta of a context: the command is run, not only read


def check_folder(run: Path | None) -> None:
    """Raise CheckpointError for a run that is not a folder: at once, as torch takes seconds to load."""
    if run is not None and not run.is_dir():
        problem = "is not a folder" if run.exists() else "there is no such folder"
        raise CheckpointError(run, problem, "regard train makes one")


def _checked(context: typer.Context, run: Path | None) -> Path | None:
    if RUNS in context.meta:
        check_folder(run)
    return run


run_argument = partial(typer.Argument, metavar="RUN", callback=_checked)
run_option = partial(typer.Option, metavar="RUN", callback=_checked)
RunArgument = Annotated[Path, run_argument(help="Run folder.")]
TranslatorRun = Annotated[Path, run_argument(help="Run folder of a translator.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE...]", help="Setting overrides.")]
Plot = Annotated[Path | None, file_option("--plot", help="Write a figure: .svg, .png or .pdf.")]
DevLines = Annotated[int, integer_option("--lines", min=2, help="Number of dev examples, at most.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress, only errors.")]
