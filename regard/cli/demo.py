"""regard demo"""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Option("--run", metavar="FOLDER", help="Where the texts, the model and the page go.")]
Language = Annotated[str, typer.Option("--language", metavar="CODE", help="Translate English into this: de or zh.")]


def demo_command(run: Folder = Path("runs/demo"), language: Language = "de") -> None:
    """Train a small translator on the embedded grammar in about a minute, translate, and write an attention page."""
    from regard.recipes.demo import demo

    demo(run, language)
