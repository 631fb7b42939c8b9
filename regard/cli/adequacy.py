"""regard adequacy"""

import math
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import say
from regard.cli.files import check_writable
from regard.cli.options import TranslatorRun

Ambiguous = Annotated[
    int, typer.Option("--ambiguous", min=0, metavar="N", help="Show the words of the highest translation entropy.")
]
Pseudo = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.tsv",
        help="Write the training pairs with one word, house4s, for all translations of each ambiguous source word.",
    ),
]


def adequacy_command(run: TranslatorRun, *, ambiguous: Ambiguous = 0, pseudo: Pseudo = None) -> None:
    """Learn which words translate which, so that translations are checked for words that they leave out.

    It links the words of the texts that the run was trained on, in seconds to minutes, and keeps what it counts in the
    run's folder. With --ambiguous it tells words of ten or more occurrences that are translated in the most ways, with
    their number and their entropy in nats; --pseudo writes texts without that ambiguity, to train on before the others.

    regard adequacy runs/en-de

    regard predict runs/en-de decoding.adequacy=lexicon < news.en
    """
    from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE
    from regard.runs import Run
    from regard.runs.lexicons import learn_translations

    check_writable(pseudo, "--pseudo")
    found = learn_translations(Run.open(run), pseudo=pseudo, say=say)
    for word in found.translations.ambiguous(1.0)[:ambiguous]:
        print(f"{word}\t{found.translations.count(word)}\t{found.translations.entropy(word):.2f}")
    print(f"wrote {run / TRANSLATIONS_FILE}: {len(found.translations.counts):,} words of {found.pairs:,} pairs")
    if not math.isnan(found.told):
        print(f"false alarms: {found.told:.1%} of the words of the dev sources, which people did translate")
    if pseudo is not None:
        print(f"wrote {pseudo}: texts to train on before the true ones; they hold no dev part")
    print(f"use it: regard predict {run} decoding.adequacy=lexicon")
