"""regard explain"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, say
from regard.cli.files import check_all_writable
from regard.cli.options import RunArgument
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.registry import Choice

TextsAndChanges = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT... [KEY=VALUE]", help="What to answer and explain; changes to the run."),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="A page that works from disk.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="A picture of the first text.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture of the first text.")]
JsonWeights = Annotated[bool, typer.Option("--json", help="One JSON object with all weights.")]
GradeOption = Annotated[
    bool, typer.Option("--grade", help="Tell how far methods can be trusted, on the run's dev part.")
]
GradeLines = Annotated[int, typer.Option("--lines", min=2, help="Dev examples to grade with.")]
RelevanceNames = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="METHOD",
        help="lrp, integrated_gradients …: regard list relevance. (default: attention) Further ones stand beside it "
        "in --html and --json.",
    ),
]
StepsOption = Annotated[bool, typer.Option("--steps", help="Tell what the search held and dropped at each step.")]
Beside = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        "--twin",
        metavar="RUN",
        help="Tell what another run would rest the same answer on; with --grade, one of another seed: do they agree?",
    ),
]
TaughtOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        help="Show the training pairs that taught a word of the translation ('*': every word); --html and --json have "
        "those of every word.",
    ),
]
LayerOption = Annotated[
    str | None,
    typer.Option(
        "--of", metavar="LAYER", help="Explain hidden states: encoder, decoder, or a module's name. With --by."
    ),
]


def explain_command(  # noqa: PLR0913  an option each
    run: RunArgument,
    words: TextsAndChanges = None,
    *,
    by: RelevanceNames = None,
    layer: LayerOption = None,
    steps: StepsOption = False,
    beside: Beside = None,
    taught: TaughtOption = None,
    html_file: Html = None,
    svg_file: Svg = None,
    png_file: Png = None,
    as_json: JsonWeights = False,
    grade: GradeOption = False,
    lines: GradeLines = 100,
) -> None:
    """Show what an answer looked at: each word of a translation, a label, tags, an answer to a question.

    --by METHOD shows which words speak for the answer, and which against it; by.SETTING=VALUE changes the method.
    With several of them a page sets their reasons side by side.

    regard explain runs/en-de "The old man reads a book." --html page.html

    regard explain runs/en-de "The old man reads a book." --by integrated_gradients by.steps=64

    regard explain runs/en-de "The old man reads a book." --by lrp --of encoder explains hidden states, not the answer.

    regard explain runs/en-de "The old man reads a book." --steps --html page.html shows what the beam held and dropped.

    regard explain runs/en-de "The old man reads a book." --by lrp --beside runs/other sets two models side by side.

    regard explain runs/en-de "The old man reads a book." --taught Buch lists the training pairs that taught it.

    regard explain runs/reviews "a gripping and funny film" --svg words.svg

    regard explain runs/en-de --grade covers the words of dev examples in the order of their relevance: what tells best?
    """
    from regard.predictor import load
    from regard.reports import check_layer, explained_report, methods_of, sorted_words

    texts, changes, settings = sorted_words(words or [])
    methods = methods_of(by or [], settings)
    if grade:
        _grade(run, texts, changes, methods, lines, beside)
        return
    check_layer(layer, methods, steps=steps, taught=taught)
    _check_given(texts, run, words or [], files := {".html": html_file, ".svg": svg_file, ".png": png_file})
    opened, other = load(run, changes), None if beside is None else load(beside, [])
    report = explained_report(opened, texts, methods, layer=layer, steps=steps, beside=other, taught=taught, say=say)
    emit(report, as_json=as_json, files=files)


def _check_given(texts: list[str], run: Path, words: list[str], files: dict[str, Path | None]) -> None:
    if not texts:
        again = " ".join([f'regard explain {run} "a text"', *words])
        raise ConfigError("TEXT", "there is nothing to explain", again)
    check_all_writable({f"--{ending.removeprefix('.')}": path for ending, path in files.items()})


def _grade(
    run: Path, texts: list[str], changes: list[str], methods: "list[Choice]", lines: int, twin: Path | None
) -> None:
    """A table of methods, and what it says in one line."""
    from regard.predictor import load
    from regard.reports import grades_report

    if texts:
        raise ConfigError(
            "--grade", "is measured on the run's dev part, not on a text", f"regard explain {run} --grade"
        )
    emit(grades_report(load(run, changes), methods, lines, say, twin), as_json=False)
