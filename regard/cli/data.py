"""regard data"""

from pathlib import Path
from typing import Annotated

import typer

data_app = typer.Typer(help="Get texts to train on.", no_args_is_help=True)

CorpusArgument = Annotated[
    str, typer.Argument(metavar="CORPUS", help="tatoeba, ted, news-commentary or opensubtitles.")
]
PairArgument = Annotated[str, typer.Argument(metavar="PAIR", help="Two languages: en-es.")]
DataFolder = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the folder CORPUS_PAIR goes.")]
Archive = Annotated[
    Path | None, typer.Option(metavar="FILE.zip", help="An archive that was fetched before: no network is needed.")
]


@data_app.command("get")
def get_command(
    corpus: CorpusArgument, pair: PairArgument, *, to: DataFolder = Path("data"), archive: Archive = None
) -> None:
    """Fetch published pairs of sentences from OPUS, and split them into train, dev and test.

    regard data get tatoeba en-es

    Their licences differ: read them at https://opus.nlpl.eu first.
    """
    from rich.console import Console
    from rich.progress import Progress

    from regard.errors import ConfigError
    from regard.recipes.download import PUBLISHED, address_of, fetch, languages_of, unpack

    languages = languages_of(pair)
    address, folder = address_of(corpus, languages), to / f"{corpus}_{pair}"
    if folder.exists():
        raise ConfigError(str(folder), "is there already", "remove it, or choose another folder with --to")
    kept = archive or to / f"{folder.name}.zip"
    console = Console(stderr=True)
    if not kept.exists():
        if archive:
            raise ConfigError(f"--archive {archive}", "there is no such file", f"fetch {address}")
        to.mkdir(parents=True, exist_ok=True)
        console.print(f"fetching {address}: {PUBLISHED[corpus].about}", highlight=False)
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(folder.name, total=None)
            fetch(address, kept, lambda done, total: bar.update(task, completed=done, total=total))
    sizes = unpack(kept, languages, folder)
    if archive is None:
        kept.unlink()
    told = ", ".join(f"{count:,} {part}" for part, count in sizes.items())
    print(f"{folder}: {told} pairs")
    texts = [f"{folder}/{{}}.{code}.gz" for code in languages]
    train, dev, test = ([text.format(part) for text in texts] for part in ("train", "dev", "test"))
    run = f"runs/{pair}"
    print(f"train: regard train --source {train[0]} --target {train[1]} \\")
    print(f"         --dev-source {dev[0]} --dev-target {dev[1]} --run {run}")
    print(f"judge: regard evaluate {run} --source {test[0]} --target {test[1]}")
