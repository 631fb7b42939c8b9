"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
TranslatorRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained translator.")]
Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Changes to the run.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]
JsonLines = Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only what is wrong.")]
