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
    from regard.recipes.download import get

    print("\n".join(get(corpus, pair, to, archive)))
