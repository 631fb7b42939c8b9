"""regard explain"""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.errors import RegardError

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained model.")]
Texts = Annotated[list[str], typer.Argument(metavar="TEXT...", help="What to translate and explain.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="A page that works from disk.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="A picture of the first text.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture of the first text.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object with all weights.")]


def explain_command(
    run: Run,
    texts: Texts,
    *,
    html_file: Html = None,
    svg_file: Svg = None,
    png_file: Png = None,
    as_json: Json = False,
) -> None:
    """Show what each word of a translation looked at.

    regard explain runs/en-de "The old man reads a book." --html page.html
    """
    from regard.explain import page, png, show, svg, to_json
    from regard.predictor import load

    predictions = load(run).predict(texts, explain=True)
    data = to_json(predictions)
    if as_json:
        print(json.dumps(data, ensure_ascii=False))
    else:
        show(predictions)
    found = predictions[0].explanation
    if (svg_file or png_file) and (found is None or not found.weights):
        raise RegardError(f"{run}: this model looks at no single words, so there is no picture (--html shows the rest)")
    if html_file is not None:
        html_file.write_text(page(data, title=f"Regard: {run.name}"), "utf-8")
    if svg_file is not None and found is not None:
        svg_file.write_text(svg(found.source_tokens, found.target_tokens, found.weights), "utf-8")
    if png_file is not None and found is not None:
        png_file.write_bytes(png(found.source_tokens, found.target_tokens, found.weights))
