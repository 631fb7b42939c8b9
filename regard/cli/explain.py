"""regard explain"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, say
from regard.cli.files import check_all_writable
from regard.cli.group import warn
from regard.cli.options import DevLines, Json, RunArgument, file_option, name_option, run_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.registry import Choice

ExplainedTexts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT...] [KEY=VALUE...]", help="Texts to explain; setting overrides, method.SETTING=VALUE too."
    ),
]
Html = Annotated[Path | None, file_option("--html", help="Write an offline page.")]
Figures = Annotated[
    list[Path] | None, file_option("--plot", help="Write a figure of the first text: .svg or .png; may be repeated.")
]
GradeOption = Annotated[bool, typer.Option("--grade", help="Measure the faithfulness of methods on the dev set.")]
RelevanceNames = Annotated[
    list[str] | None,
    name_option(
        "--method",
        help="lrp, integrated_gradients ...: regard list relevance. May be repeated, for --html and --json. "
        "(default: attention)",
    ),
]
StepsOption = Annotated[bool, typer.Option("--steps", help="Show kept and pruned hypotheses of each search step.")]
Beside = Annotated[
    Path | None,
    run_option(
        "--beside",
        help="Explain the same answer by another run; with --grade, compare with a run of another seed.",
    ),
]
TaughtOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        help="List the training pairs with evidence for a word of the translation ('*': all words).",
    ),
]
LayerOption = Annotated[
    str | None,
    typer.Option("--of", metavar="LAYER", help="Explain hidden states: encoder, decoder, or the name of a module."),
]
ContextMemory = Annotated[
    Path | None,
    file_option(
        "--memory",
        help="Translation memory: its similar segments are context of a run trained with "
        "data.source_augmentations=fuzzy_matches.",
    ),
]
KeptTermsFile = Annotated[Path | None, file_option("--glossary", help="Terms to use, as of regard predict.")]


def explain_command(  # noqa: PLR0913  an option each
    run: RunArgument,
    words: ExplainedTexts = None,
    *,
    method: RelevanceNames = None,
    layer: LayerOption = None,
    steps: StepsOption = False,
    beside: Beside = None,
    taught: TaughtOption = None,
    glossary: KeptTermsFile = None,
    memory: ContextMemory = None,
    html_file: Html = None,
    plot: Figures = None,
    as_json: Json = False,
    grade: GradeOption = False,
    lines: DevLines = 100,
) -> None:
    """Explain an answer by attention or attribution.

    Answers are the words of a translation, a label, tags or the answer to a question. --method attributes the answer
    to the input words, for and against it. --of explains hidden states, --steps shows the beam, --beside compares two
    runs, --taught lists training pairs, and --grade measures faithfulness by deletion and insertion on the dev set.

    regard explain runs/en-de "The old man reads a book." --html page.html
    regard explain runs/en-de "The old man reads a book." --method integrated_gradients method.steps=64
    regard explain runs/en-de "The old man reads a book." --steps --html page.html
    regard explain runs/en-de "The old man reads a book." --method lrp --beside runs/other
    regard explain runs/en-de "The old man reads a book." --taught Buch
    regard explain runs/reviews "a gripping and funny film" --plot words.svg
    regard explain runs/en-de --grade
    """
    from regard.predictor import load
    from regard.reports.explanation_report import check_layer, explained_report, methods_of, sorted_words

    texts, changes, settings = sorted_words(list(map(_renamed, words or [])))
    methods = methods_of(method or [], settings)
    if grade:
        _grade(run, texts, changes, methods, lines, beside)
        return
    check_layer(layer, methods, steps=steps, taught=taught)
    _check_given(texts, run, words or [], files := _files(html_file, plot or []))
    opened, other = load(run, changes), None if beside is None else load(beside, [])
    report = explained_report(
        opened, texts, methods, layer=layer, steps=steps, beside=other, taught=taught, glossary=glossary,
        memory=memory, say=say,
    )  # fmt: skip
    emit(report, as_json=as_json, files=files)


def _renamed(word: str) -> str:
    """Return method.SETTING=VALUE for by.SETTING=VALUE, its older name."""
    if not re.match(r"by\.\w+=", word):
        return word
    warn("by.SETTING is now method.SETTING")
    return f"method{word.removeprefix('by')}"


def _files(page: Path | None, plots: list[Path]) -> dict[str, Path | None]:
    """Return the files to write, by their endings. Raises ConfigError for another kind of figure."""
    for plot in plots:
        if plot.suffix.lower() not in (".svg", ".png"):
            raise ConfigError(
                "--plot", f"there is no kind of figure '{plot.suffix}'", "a name that ends with .svg, .png"
            )
    return {".html": page, **{plot.suffix.lower(): plot for plot in plots}}


def _check_given(texts: list[str], run: Path, words: list[str], files: dict[str, Path | None]) -> None:
    if not texts:
        again = " ".join([f'regard explain {run} "a text"', *words])
        raise ConfigError("TEXT", "there is nothing to explain", again)
    check_all_writable({"--html" if ending == ".html" else "--plot": path for ending, path in files.items()})


def _grade(
    run: Path, texts: list[str], changes: list[str], methods: "list[Choice]", lines: int, twin: Path | None
) -> None:
    """A table of methods, and what it says in one line."""
    from regard.predictor import load
    from regard.reports.explanations import grades_report

    if texts:
        raise ConfigError(
            "--grade", "is measured on the dev set of the run, not on a text", f"regard explain {run} --grade"
        )
    emit(grades_report(load(run, changes), methods, lines, say, twin), as_json=False)
