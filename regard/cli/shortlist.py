"""regard shortlist"""

import math
from typing import Annotated

from regard.cli.emit import say
from regard.cli.options import TranslatorRun, integer_option

BestPieces = Annotated[int, integer_option("--best", min=1, max=1000, help="Target tokens for each source token.")]
Common = Annotated[int, integer_option("--common", min=1, help="Most frequent target tokens, always included.")]


def shortlist_command(run: TranslatorRun, *, best: BestPieces = 50, common: Common = 100) -> None:
    """Learn a lexical shortlist, for faster decoding.

    The softmax is then computed over hundreds of target tokens, not thousands. It is learnt from the training data in
    seconds, and saved in the run. It may cost a little quality: regard evaluate reports how much.

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
            f"mean shortlist: {found.mean_length:,.0f} of {found.vocabulary:,} tokens; "
            f"coverage of the dev translations: {found.covered:.2%}"
        )
    print(f"use it: regard predict {run} decoding.shortlist=true")
