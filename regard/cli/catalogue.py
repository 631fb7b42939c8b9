"""regard list"""

from typing import Annotated

import typer

from regard.cli.emit import emit
from regard.cli.options import JsonLines

What = Annotated[str | None, typer.Argument(help="A kind of part: score, encoder, search …; attention; or any name.")]


def list_command(what: What = None, as_json: JsonLines = False) -> None:
    """List the parts a config can name, with their settings and defaults.

    For example: regard list score

    All mechanisms of attention, with other names, formula, cost, use and paper: regard list attention

    What a name of the literature stands for: regard list bahdanau

    --json tells the same to programs, part by part.
    """
    from regard.reports.catalogue import ATTENTION_SHEET, parts_report, show_attention

    if what == ATTENTION_SHEET and not as_json:
        from rich.console import Console

        show_attention(Console(highlight=False))
    else:
        emit(parts_report(what), as_json=as_json, indent=2)
