"""regard demo"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.group import INTERRUPTED
from regard.cli.options import folder_option, integer_option

DemoFolder = Annotated[Path, folder_option("--run", help="Folder of the run.")]
LanguageOption = Annotated[str, typer.Option("--language", metavar="CODE", help="Target language: de or zh.")]
Serve = Annotated[bool, typer.Option("--serve", help="Serve the model after training; reuse a model of the folder.")]
Port = Annotated[int, integer_option(min=0, max=65535, help="Port of --serve; 0: any free one.")]


def demo_command(
    run: DemoFolder = Path("runs/demo"), language: LanguageOption = "de", serve: Serve = False, port: Port = 5000
) -> None:
    """Train a small translator in about two minutes on two idle cores.

    It takes four minutes of processor time. It translates sentences of a generated grammar, reports its accuracy on new
    sentences, and writes a page with its attention.

    regard demo
    regard demo --language zh --run runs/demo-zh --serve
    """
    from regard.config.versions import MODEL
    from regard.recipes.demo import demo, made_before

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
