"""regard explain"""

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_writable
from regard.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.registry import Choice
    from regard.results import Prediction

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT... [KEY=VALUE]", help="What to answer and explain; changes to the run."),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="A page that works from disk.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="A picture of the first text.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture of the first text.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object with all weights.")]
Grade = Annotated[bool, typer.Option("--grade", help="Tell how far methods can be trusted, on the run's dev part.")]
Lines = Annotated[int, typer.Option("--lines", min=2, help="Dev examples to grade with.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="METHOD", help="lrp, integrated_gradients …: regard list relevance. (default: attention)"
    ),
]


def explain_command(
    run: Run,
    words: Words = None,
    *,
    by: By = None,
    html_file: Html = None,
    svg_file: Svg = None,
    png_file: Png = None,
    as_json: Json = False,
    grade: Grade = False,
    lines: Lines = 100,
) -> None:
    """Show what an answer looked at: each word of a translation, a label, tags, an answer to a question.

    --by METHOD shows which words speak for the answer, and which against it; by.SETTING=VALUE changes the method.

    regard explain runs/en-de "The old man reads a book." --html page.html

    regard explain runs/en-de "The old man reads a book." --by integrated_gradients by.steps=64

    regard explain runs/reviews "a gripping and funny film" --svg words.svg

    --grade covers the words of dev examples in the order of their relevance: which method tells best what matters?

    regard explain runs/en-de --grade
    """
    from regard.explain import show, to_json
    from regard.predictor import load

    texts, changes, settings = _sorted(words or [])
    method = _method(by, settings)
    if grade:
        _grade(run, texts, changes, [] if method is None else [method], lines)
        return
    if not texts:
        raise ConfigError(
            "TEXT", "there is nothing to explain", f'regard explain {run} "a text" {" ".join(words or [])}'
        )
    for option, path in (("--html", html_file), ("--svg", svg_file), ("--png", png_file)):
        if path is not None:
            check_writable(path, option)
    predictor = load(run, changes)
    predictions = predictor.predict(texts, explain=method is None)
    if method is not None:
        predictions = predictor.pictured(predictions, method)
    if as_json:
        print(json.dumps(to_json(predictions), ensure_ascii=False))
    else:
        show(predictions)
    _draw(run, predictions, html_file, svg_file, png_file)


def _draw(
    run: Path, predictions: "Sequence[Prediction]", html_file: Path | None, svg_file: Path | None, png_file: Path | None
) -> None:
    """Write the page and the pictures that are wanted."""
    from regard.explain import page, png_of, svg_of, to_json

    found = predictions[0].explanation
    title = "Attention" if found is None or found.weights else "Attention to the words before"
    if html_file is not None:
        _keep(html_file, page(to_json(predictions), title=f"Regard: {run.name}").encode())
    if svg_file is not None and found is not None:
        _keep(svg_file, svg_of(found, title=title, source=predictions[0].source).encode())
    if png_file is not None and found is not None:
        _keep(png_file, png_of(found, title=title, source=predictions[0].source))


def _sorted(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Texts, changes to the run, and settings of a method; whatever is neither of these is a text."""
    from regard.experiment import OPEN

    change, setting = re.compile(rf"({'|'.join(OPEN)})(\.\w+)*="), re.compile(r"by\.\w+=")
    changes, settings = ([word for word in words if kind.match(word)] for kind in (change, setting))
    return [word for word in words if word not in (*changes, *settings)], changes, settings


def _grade(run: Path, texts: list[str], changes: list[str], methods: "list[Choice]", lines: int) -> None:
    """A table of methods, and what it says in one line."""
    from regard.reports.explanations import grade_run, ranking, table

    if texts:
        raise ConfigError(
            "--grade", "is measured on the run's dev part, not on a text", f"regard explain {run} --grade"
        )
    found = grade_run(run, changes, methods, lines, lambda text: print(text, file=sys.stderr))
    print(table(found))
    print(ranking(found))


def _method(name: str | None, settings: list[str]) -> "Choice | None":
    """A method by its name or another name of it, with its settings. Raises ConfigError for what is none."""
    if name is None:
        if settings:
            raise ConfigError(settings[0].partition("=")[0], "is a setting of a method", "--by METHOD names it")
        return None
    from regard.config import parse_changes
    from regard.explain.relevance import method_of
    from regard.registry import Choice

    known = method_of(name)
    return Choice(known.name, {**known.settings, **parse_changes(settings).get("by", {})})


def _keep(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    print(f"wrote {path}", file=sys.stderr)
