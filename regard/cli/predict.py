"""regard predict"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_writable
from regard.cli.group import warn
from regard.cli.options import RunArgument
from regard.errors import ConfigError, Fault

if TYPE_CHECKING:
    from regard.predictor import Predictor

N_BEST = "decoding.search.n_best"
PredictChanges = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes: decoding.search.size=8")
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE",
        help="Text, line by line (.gz too); .html, .srt and .docx are translated as a whole. (default: stdin)",
    ),
]
PredictOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where predictions go. (default: stdout)")
]
SearchOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="greedy, beam or sampling. (default: as trained)")
]
NBest = Annotated[int, typer.Option("--n-best", min=1, help="So many a sentence: number ||| text ||| score.")]
ScoresOption = Annotated[bool, typer.Option("--scores", help="The score (nats) and a tab before each text.")]
Alignment = Annotated[bool, typer.Option("--alignment", help="A tab and word links after each (best) text: 0-0 1-2.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Read each line as one sentence, with nothing kept or split; lost numbers are warned of."
    ),
]
JsonRows = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Terms = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE.tsv", help="Terms to keep: source, tab, target or target|other target."),
]
Abstain = Annotated[
    float | None,
    typer.Option(min=0, max=1, metavar="SHARE", help="Withhold answers of less confidence: 0.9. See regard calibrate."),
]
Prefixes = Annotated[
    Path | None, typer.Option("--prefix", metavar="FILE", help="What the answer to each line begins with, or nothing.")
]


def predict_command(  # noqa: PLR0913  an option each
    run: RunArgument,
    changes: PredictChanges = None,
    *,
    input_file: Input = None,
    output_file: PredictOutput = None,
    search: SearchOption = None,
    n_best: NBest = 1,
    scores: ScoresOption = False,
    alignment: Alignment = False,
    raw: Raw = False,
    as_json: JsonRows = False,
    glossary: Terms = None,
    prefix: Prefixes = None,
    abstain: Abstain = None,
) -> None:
    """Translate, label, tag, answer or go on with: one line out for each line in, as soon as it is read.

    A line may hold several sentences; addresses, emoji and numbers with sign and unit in it are kept. With --raw or
    --alignment a line is one sentence, nothing is kept, and a warning says which numbers are lost. Web pages, subtitles
    and Word files keep their markup and layout. Terms of a --glossary are translated as it says; those that are missing
    or fit badly are told, and --json tells of each. decoding.ensemble=[RUN2,RUN3] lets several runs write together.

    A language model goes on with each line; after an empty one it begins a text. Two texts, or a passage and its
    question, are one line with a tab between them; --json tells probabilities and places. A line that is too long
    for the model is told, and its answer is empty. With --abstain 0.9 a line whose answer has less confidence
    (of several sentences the least) is answered by "no answer: confidence 0.41", in brackets.

    `regard translate` is the same command.

    echo "Good morning!" | regard predict runs/en-de

    regard predict runs/en-de -i report.docx -o bericht.docx
    """
    from regard.predictor.kept_terms import KeptTerms
    from regard.predictor.line_answers import Abstention, LineFormat, answer_blocks, document_path

    changed, kept = _changes(changes or [], search, n_best), KeptTerms(glossary, prefix, warn)
    _check_output(input_file, output_file)
    shown = LineFormat(n_best, scores, alignment, as_json, abstain)
    details, terminal = shown != LineFormat(), sys.stdout.isatty()
    document = None if raw else document_path(input_file, output_file, details=details, terminal=terminal)
    predictor = _loaded(run, changed, n_best)
    _check_options(predictor, search, n_best, alignment=alignment)
    kept.check(predictor)
    source, sure = input_file or sys.stdin.buffer, Abstention(abstain, predictor, run, warn)
    _write(answer_blocks(predictor, document, source, kept, sure, shown, raw=raw), output_file)


def _check_output(source: Path | None, output: Path | None) -> None:
    """Raise ConfigError for a file that cannot be written, or is the one that is read."""
    if source and output and output.exists() and output.samefile(source):
        raise ConfigError("--output", f"'{output}' is the input itself", "choose another file")
    check_writable(output, "--output")


def _changes(changes: list[str], search: str | None, n_best: int) -> list[str]:
    """The search comes first: what changes say of it is meant for the one that is named."""
    for word in changes:
        if "=" not in word:
            hint = f"a file to translate: --input {word}; a change: decoding.search.size=8"
            raise ConfigError(word, "is no change of a setting", hint)
    named = [f"decoding.search={search}"] if search else []
    return [*named, *changes, *([f"{N_BEST}={n_best}"] if n_best > 1 else [])]


def _loaded(run: Path, changes: list[str], n_best: int) -> "Predictor":
    from regard.predictor import load

    try:
        return load(run, changes)
    except ConfigError as error:
        option = Fault("--n-best", "needs a search that finds several", "--search beam or --search sampling")
        told = [option if n_best > 1 and fault.place == N_BEST else fault for fault in error.faults]
        raise ConfigError.of(told) from error


def _check_options(predictor: "Predictor", search: str | None, n_best: int, *, alignment: bool) -> None:
    """Raise ConfigError for links where nothing is translated, and for options of a search where nothing is written."""
    if alignment and not {"source", "target"} <= predictor.task.columns.keys():
        problem = "links words of a text and its translation, and this model does not translate"
        raise ConfigError("--alignment", problem, "leave it out")
    for option, given in (("--n-best", n_best > 1), ("--search", search is not None)):
        if given:
            predictor.task.answer.check_search(option)


def _write(blocks: Iterator[bytes], path: Path | None) -> None:
    """The file is opened when its first line is there: a fault before it leaves an older file as it was."""
    first = next(blocks, b"")
    with ExitStack() as stack:
        out = stack.enter_context(path.open("wb")) if path else sys.stdout.buffer
        for block in chain([first], blocks):
            out.write(block)
            out.flush()
