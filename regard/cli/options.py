"""Options and arguments that several commands share."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]
TranslatorRun = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a translator.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE...]", help="Setting overrides.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a figure: .svg, .png or .pdf.")]
DevLines = Annotated[int, typer.Option("--lines", min=2, metavar="INTEGER", help="Number of dev examples, at most.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress, only errors.")]
of_data = partial(typer.Option, metavar="FILE", rich_help_panel="Data")
