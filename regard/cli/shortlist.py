"""regard shortlist"""

import math
from typing import Annotated

import typer

from regard.cli.emit import say
from regard.cli.options import TranslatorRun

BestPieces = Annotated[
    int, typer.Option("--best", min=1, max=1000, metavar="N", help="Target pieces for each source piece.")
]
Common = Annotated[int, typer.Option("--common", min=1, metavar="N", help="Target pieces for every source.")]


def shortlist_command(run: TranslatorRun, *, best: BestPieces = 50, common: Common = 100) -> None:
    """Learn which words may translate which, so that a translator chooses among hundreds, not thousands.

    It learns from the texts that the run was trained on, in seconds, and keeps a file in the run's folder. A short
    list is quicker and may cost a little quality: regard evaluate tells how much.

    regard shortlist runs/en-de

    regard evaluate runs/en-de decoding.shortlist=true
    """
    from regard.decoding.shortlist import SHORTLIST_FILE
    from regard.runs import Run
    from regard.runs.lexicons import learn_shortlist

    found = learn_shortlist(Run.open(run), best=best, common=common, say=say)
    print(f"wrote {run / SHORTLIST_FILE}")
    if not math.isnan(found.covered):
        print(
            f"of {found.vocabulary:,} pieces {found.mean_length:,.0f} may be written of a sentence; "
            f"{found.covered:.2%} of the pieces of the dev translations are among them"
        )
    print(f"use it: regard predict {run} decoding.shortlist=true")
