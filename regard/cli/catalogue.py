"""regard list"""

from typing import Annotated

import typer

from regard.cli.emit import emit
from regard.cli.options import Json

What = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A kind of part (score, encoder, search ...), or attention.")
]


def list_command(what: What = None, as_json: Json = False) -> None:
    """List the parts that a config can name.

    Without NAME an index of all kinds of parts. A kind lists its parts with settings and defaults; attention lists all
    mechanisms with their other names, formula, cost, use and paper; a name of the literature lists the parts that it
    stands for. --json has all of them.

    regard list
    regard list score
    regard list attention
    regard list bahdanau
    """
    from regard.reports.catalogue import ATTENTION_SHEET, parts_report, show_attention

    if what == ATTENTION_SHEET and not as_json:
        from rich.console import Console

        show_attention(Console(highlight=False))
    else:
        emit(parts_report(what), as_json=as_json, indent=2)
