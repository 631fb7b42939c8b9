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
    from regard.registry import Choice

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Words = Annotated[
    list[str], typer.Argument(metavar="TEXT... [KEY=VALUE]", help="What to answer and explain; changes to the run.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="A page that works from disk.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="A picture of the first text.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture of the first text.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object with all weights.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="METHOD", help="lrp, integrated_gradients …: regard list relevance. (default: attention)"
    ),
]


def explain_command(
    run: Run,
    words: Words,
    *,
    by: By = None,
    html_file: Html = None,
    svg_file: Svg = None,
    png_file: Png = None,
    as_json: Json = False,
) -> None:
    """Show what an answer looked at: each word of a translation, a label, tags, an answer to a question.

    --by METHOD shows which words speak for the answer, and which against it; by.SETTING=VALUE changes the method.

    regard explain runs/en-de "The old man reads a book." --html page.html

    regard explain runs/en-de "The old man reads a book." --by integrated_gradients by.steps=64

    regard explain runs/reviews "a gripping and funny film" --svg words.svg
    """
    from regard.experiment import OPEN
    from regard.explain import page, png_of, show, svg_of, to_json
    from regard.predictor import load

    change = re.compile(rf"({'|'.join(OPEN)})(\.\w+)*=")  # any other word is a text
    setting = re.compile(r"by\.\w+=")
    texts = [word for word in words if not change.match(word) and not setting.match(word)]
    method = _method(by, [word for word in words if setting.match(word)])
    if not texts:
        raise ConfigError("TEXT", "there is nothing to explain", f'regard explain {run} "a text" {words[0]}')
    for option, path in (("--html", html_file), ("--svg", svg_file), ("--png", png_file)):
        if path is not None:
            check_writable(path, option)
    predictor = load(run, [word for word in words if change.match(word)])
    predictions = predictor.predict(texts, explain=method is None)
    if method is not None:
        predictions = predictor.pictured(predictions, method)
    data = to_json(predictions)
    if as_json:
        print(json.dumps(data, ensure_ascii=False))
    else:
        show(predictions)
    found = predictions[0].explanation
    title = "Attention" if found is None or found.weights else "Attention to the words before"
    if html_file is not None:
        _keep(html_file, page(data, title=f"Regard: {run.name}").encode())
    if svg_file is not None and found is not None:
        _keep(svg_file, svg_of(found, title=title, source=predictions[0].source).encode())
    if png_file is not None and found is not None:
        _keep(png_file, png_of(found, title=title, source=predictions[0].source))


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
