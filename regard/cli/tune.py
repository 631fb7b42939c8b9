"""regard tune"""

from typing import Annotated

import typer

from regard.cli.emit import say
from regard.cli.options import TranslatorRun

FeatureChanges = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes: decoding.features=[length, coverage]")
]
TuneMethod = Annotated[str, typer.Option(metavar="NAME", help="mert, or random: weights drawn at random.")]
TuneRounds = Annotated[
    int, typer.Option(min=1, max=100, metavar="N", help="Rounds of translating and searching, at most.")
]
NBestRound = Annotated[
    int, typer.Option("--n-best", min=2, max=1000, metavar="N", help="Translations of a sentence a round.")
]
TuneMinutes = Annotated[
    float, typer.Option(min=0.1, metavar="N", help="Time for all; then, or after Ctrl-C, the best so far is kept.")
]
TuneLines = Annotated[int, typer.Option(min=1, metavar="N", help="Dev sentences, at most.")]


def tune_command(
    run: TranslatorRun,
    changes: FeatureChanges = None,
    *,
    method: TuneMethod = "mert",
    rounds: TuneRounds = 4,
    n_best: NBestRound = 30,
    lines: TuneLines = 1000,
    minutes: TuneMinutes = 10.0,
) -> None:
    """Find weights of features that make a translator's beam better: language model, lexicon, phrases, length ...

    It learns an n-gram model, a lexicon and a phrase table from the texts that the run was trained on, and searches the
    weights by BLEU on the run's dev part. All goes into the folder RUN/tuning; the run itself stays as it is.
    It ends after --minutes; Ctrl-C ends it earlier, with the best weights so far.

    regard tune runs/en-de

    regard tune runs/phrases decoding.rerank.run=runs/en-de

    regard predict runs/en-de decoding.tuned=true
    """
    from regard.recipes.rerank_tuning import tune_weights

    found = tune_weights(
        run, changes or [], method=method, rounds=rounds, n_best=n_best, lines=lines, minutes=minutes, say=say
    )
    print(f"BLEU on the dev part: {found.before:.2f} before, {found.after:.2f} after")
    print(f"words for each one of the references: {found.lengths[0]:.3f} before, {found.lengths[1]:.3f} after")
    for name, weight in found.weights.items():
        print(f"  {name:<16}{weight:>10.4f}")
    if found.path is None:
        print("that is no better, so nothing was written: use the run as it is")
    else:
        print(f"wrote {found.path}")
        print(f"use it: regard predict {run} decoding.tuned=true")
