"""regard demo"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.group import INTERRUPTED

DemoFolder = Annotated[
    Path, typer.Option("--run", metavar="FOLDER", help="Where the texts, the model and the page go.")
]
LanguageOption = Annotated[
    str, typer.Option("--language", metavar="CODE", help="Translate English into this: de or zh.")
]
Serve = Annotated[bool, typer.Option("--serve", help="Serve the model then; one that is there is not trained again.")]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Where to serve it. 0: any that is free.")]


def demo_command(
    run: DemoFolder = Path("runs/demo"), language: LanguageOption = "de", serve: Serve = False, port: Port = 5000
) -> None:
    """Train a small translator on the embedded grammar in about a minute, translate, and write an attention page."""
    from regard.recipes.demo import MODEL, demo, made_before

    if not serve:
        if demo(run, language) is None:
            raise typer.Exit(INTERRUPTED)
        return
    from regard.cli.serve import check_installed

    check_installed()
    from regard.serve.server import listening, serve_runs
    from regard.serve.settings import Settings

    listening("127.0.0.1", port).close()  # before a minute of training
    if made_before(run, language) is None and demo(run, language) is None:
        raise typer.Exit(INTERRUPTED)
    serve_runs(Settings(port=port), [run / MODEL])
