"""regard adequacy"""

import math
from pathlib import Path
from typing import Annotated

from regard.cli.emit import say
from regard.cli.files import check_writable
from regard.cli.options import TranslatorRun, file_option, integer_option

Ambiguous = Annotated[int, integer_option("--ambiguous", min=0, help="Number of ambiguous words to print, by entropy.")]
Pseudo = Annotated[
    Path | None,
    file_option(
        help="Write training pairs (.tsv) where one pseudo word replaces all translations of an ambiguous source word."
    ),
]


def adequacy_command(run: TranslatorRun, *, ambiguous: Ambiguous = 0, pseudo: Pseudo = None) -> None:
    """Detect source words that a translation leaves out.

    Aligns the words of the training data, in seconds to minutes, and keeps the word translation table in the run.
    --ambiguous prints words of at least ten occurrences by their translation entropy, with their count and the entropy
    in nats. --pseudo writes training data without that ambiguity, for a first stage of training.

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
    if not math.isnan(found.reported):
        print(f"false alarm rate: {found.reported:.1%} of the words of the dev set, whose references do translate them")
    if pseudo is not None:
        print(f"wrote {pseudo}: data for a first stage of training, without a dev set")
    print(f"use it: regard predict {run} decoding.adequacy=lexicon")
