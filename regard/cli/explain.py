"""regard explain"""

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.files import check_writable
from regard.errors import ConfigError

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Words = Annotated[
    list[str], typer.Argument(metavar="TEXT... [KEY=VALUE]", help="What to answer and explain; changes to the run.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="A page that works from disk.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="A picture of the first text.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture of the first text.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object with all weights.")]


def explain_command(
    run: Run,
    words: Words,
    *,
    html_file: Html = None,
    svg_file: Svg = None,
    png_file: Png = None,
    as_json: Json = False,
) -> None:
    """Show what an answer looked at: each word of a translation, a label, tags, an answer to a question.

    regard explain runs/en-de "The old man reads a book." --html page.html

    regard explain runs/reviews "a gripping and funny film" --svg words.svg
    """
    from regard.experiment import OPEN
    from regard.explain import page, png_of, show, svg_of, to_json
    from regard.predictor import load

    change = re.compile(rf"({'|'.join(OPEN)})(\.\w+)*=")  # any other word is a text
    texts = [word for word in words if not change.match(word)]
    if not texts:
        raise ConfigError("TEXT", "there is nothing to explain", f'regard explain {run} "a text" {words[0]}')
    for option, path in (("--html", html_file), ("--svg", svg_file), ("--png", png_file)):
        if path is not None:
            check_writable(path, option)
    predictions = load(run, [word for word in words if change.match(word)]).predict(texts, explain=True)
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


def _keep(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    print(f"wrote {path}", file=sys.stderr)
