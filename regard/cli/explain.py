"""regard explain"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.emit import emit, print_json, say, write_file
from regard.cli.files import check_writable
from regard.cli.options import Run
from regard.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from regard.predictor import Predictor
    from regard.registry import Choice
    from regard.results import Prediction

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
LayerOption = Annotated[
    str | None,
    typer.Option(
        "--of", metavar="LAYER", help="Explain hidden states: encoder, decoder, or a module's name. With --by."
    ),
]


def explain_command(
    run: Run,
    words: TextsAndChanges = None,
    *,
    by: RelevanceNames = None,
    layer: LayerOption = None,
    steps: StepsOption = False,
    beside: Beside = None,
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

    regard explain runs/reviews "a gripping and funny film" --svg words.svg

    regard explain runs/en-de --grade covers the words of dev examples in the order of their relevance: what tells best?
    """
    texts, changes, settings = _sorted(words or [])
    methods = _methods(by or [], settings)
    if grade:
        _grade(run, texts, changes, methods, lines, beside)
        return
    if not texts:
        example = f'regard explain {run} "a text" {" ".join(words or [])}'
        raise ConfigError("TEXT", "there is nothing to explain", example)
    for option, path in {"--html": html_file, "--svg": svg_file, "--png": png_file}.items():
        check_writable(path, option)
    predictor, predictions = _explained(run, changes, texts, methods, layer, steps)
    others = {} if beside is None else _beside(run, beside, predictor, predictions, methods)
    data = _shown(run, predictions, others, as_json)
    _draw(predictor, predictions, data, html_file, svg_file, png_file)


def _explained(
    run: Path, changes: list[str], texts: list[str], methods: "Sequence[Choice]", layer: str | None, steps: bool
) -> "tuple[Predictor, Sequence[Prediction]]":
    """The model, and answers with what they looked at, or by methods: the first draws the picture, others stand beside.

    With `steps` what a search of each text held and dropped, too.
    """
    from regard.predictor import load

    if layer is not None and len(methods) != 1:
        raise ConfigError("--of", "needs one method", "--by lrp")
    if layer is not None and steps:
        raise ConfigError("--steps", "tells of the search for an answer, and --of explains none", "leave one out")
    predictor = load(run, changes)
    predictions: Sequence[Prediction] = predictor.predict(texts, explain=not methods)
    if layer is not None:
        return predictor, predictor.pictured_states(predictions, methods[0], layer)
    if methods:
        predictions = predictor.with_reasons(predictor.pictured(predictions, methods[0]), methods[1:])
    return predictor, _searched(predictor, predictions) if steps else predictions


def _searched(predictor: "Predictor", predictions: "Sequence[Prediction]") -> "Sequence[Prediction]":
    found = predictor.with_search(predictions)
    if not any(one.search_tree() for one in found):
        raise ConfigError("--steps", "there is no search: nothing was written, or only copied", "leave it out")
    return found


def _beside(
    run: Path, other: Path, predictor: "Predictor", predictions: "Sequence[Prediction]", methods: "Sequence[Choice]"
) -> "dict[str, Sequence[Prediction]]":
    """The same answers as another run explains them, by its name. Raises ConfigError for one of another task."""
    from regard.predictor import load

    second = load(other, [])
    kinds = [(one.task.translated, *one.task.columns, one.languages) for one in (predictor, second)]
    if kinds[0] != kinds[1] or second.task.translated is None:
        raise ConfigError("--beside", f"{other} does not translate as {run} does", "a translator of the same languages")
    name = other.name if other.name != run.name else str(other)
    return {name: second.explained_beside(predictions, methods)}


def _shown(
    run: Path, predictions: "Sequence[Prediction]", beside: "Mapping[str, Sequence[Prediction]]", as_json: bool
) -> "dict[str, Any]":
    """Print predictions, and return them as JSON values."""
    from regard.explain import show, to_json
    from regard.explain.terminal import beside_lines

    data = to_json(predictions, model=run.name if beside else "", beside=beside)
    if as_json:
        print_json(data)
        return data
    for place, one in enumerate(predictions):
        show([one])
        if beside:
            print(*beside_lines({run.name: one, **{name: others[place] for name, others in beside.items()}}), sep="\n")
    return data


def _draw(
    predictor: "Predictor",
    predictions: "Sequence[Prediction]",
    data: "Mapping[str, Any]",
    html_file: Path | None,
    svg_file: Path | None,
    png_file: Path | None,
) -> None:
    """Write the page and the pictures that are wanted."""
    from regard.explain import page, png_of, svg_of

    found = predictions[0].explanation
    title = "Attention" if found is None or found.link.weights else "Attention to the words before"
    if html_file is not None:
        graded = {**data, "grades": predictor.run.measurements.grades()}
        write_file(html_file, page(graded, title=f"Regard: {predictor.run.path.name}").encode())
    if svg_file is not None and found is not None:
        write_file(svg_file, svg_of(found, title=title, source=predictions[0].source).encode())
    if png_file is not None and found is not None:
        write_file(png_file, png_of(found, title=title, source=predictions[0].source))


def _sorted(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Texts, changes to the run, and settings of a method; whatever is neither of these is a text."""
    from regard.experiment import OPEN

    change, setting = re.compile(rf"({'|'.join(OPEN)})(\.\w+)*="), re.compile(r"by\.\w+=")
    changes, settings = ([word for word in words if kind.match(word)] for kind in (change, setting))
    return [word for word in words if word not in (*changes, *settings)], changes, settings


def _grade(
    run: Path, texts: list[str], changes: list[str], methods: "list[Choice]", lines: int, twin: Path | None
) -> None:
    """A table of methods, and what it says in one line."""
    from regard.predictor import load
    from regard.reports.explanations import grades_report

    if texts:
        raise ConfigError(
            "--grade", "is measured on the run's dev part, not on a text", f"regard explain {run} --grade"
        )
    emit(grades_report(load(run, changes), methods, lines, say, twin), as_json=False)


def _methods(names: list[str], settings: list[str]) -> "list[Choice]":
    """Methods by their names or other names; one alone may have settings. Raises ConfigError for what is none."""
    if len(names) != 1 and settings:
        raise ConfigError(settings[0].partition("=")[0], "is a setting of one method", "--by METHOD names it, once")
    from regard.config import parse_changes
    from regard.explain.relevance import method_of
    from regard.registry import Choice

    changed = parse_changes(settings).get("by", {})
    return [Choice(known.name, {**known.settings, **changed}) for known in map(method_of, names)]
