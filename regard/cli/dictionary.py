"""regard dictionary"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, say_unless
from regard.cli.files import check_writable
from regard.cli.options import Json, Quiet, file_option, integer_option, name_option

SourceVectors = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="Word vectors of the source language: a run, or a file of vectors.")
]
TargetVectors = Annotated[Path, typer.Argument(metavar="TARGET", help="Word vectors of the target language.")]
MethodName = Annotated[
    str,
    name_option(
        help="identical (seed: words of equal spelling), similarity (unsupervised self-learning) or adversarial (fails "
        "on vectors of small texts; check the mean CSLS); with settings: '{name: similarity, words: 10000}'."
    ),
]
SeedPairs = Annotated[Path | None, file_option(help="Seed dictionary, WORD<TAB>TRANSLATION a line.")]
GoldPairs = Annotated[Path | None, file_option(help="Gold dictionary: print precision at 1, 5 and 10.")]
WordCount = Annotated[int, integer_option(min=2, help="Most frequent words of each language.")]
TranslationCount = Annotated[int, integer_option("--count", "-k", min=1, help="Translations of each word.")]
MappedVectors = Annotated[
    tuple[Path, Path] | None,
    typer.Option(metavar="SOURCE TARGET", help="Write the vectors of both languages in the shared space."),
]
DictionarySeed = Annotated[int, integer_option(min=0, help="Random seed.")]


def dictionary_command(
    source: SourceVectors,
    target: TargetVectors,
    *,
    method: MethodName = "identical",
    seed_pairs: SeedPairs = None,
    gold: GoldPairs = None,
    words: WordCount = 20_000,
    count: TranslationCount = 1,
    mapped: MappedVectors = None,
    seed: DictionarySeed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a bilingual dictionary without parallel text.

    Maps word vectors of two languages into a shared space, and translates each word by its nearest neighbour.

    regard dictionary runs/words-en runs/words-de > en-de.tsv
    regard dictionary en.vec de.vec --method similarity --gold known.tsv
    """
    for file in mapped or ():
        check_writable(file, "--mapped")
    from regard.reports.dictionary import (
        dictionary_method,
        dictionary_report,
        learn_dictionary,
        precision_report,
        read_word_pairs,
        write_mapped,
    )
    from regard.runs.embeddings import read_embeddings

    start = read_word_pairs(seed_pairs) if seed_pairs else dictionary_method(method)
    known = read_word_pairs(gold) if gold else None
    one, other = (read_embeddings(path).table for path in (source, target))
    found = learn_dictionary(one, other, start, words=words, seed=seed, say=say_unless(quiet))
    if mapped:
        write_mapped(found, mapped)
    report = precision_report(found, known) if known else dictionary_report(found, count)
    emit(report, as_json=as_json)
