"""regard data"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, say, say_unless, write_file
from regard.cli.files import check_all_writable, check_apart
from regard.cli.options import Json, Quiet

data_app = typer.Typer(help="Get texts to train on, and check them.", no_args_is_help=True)

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


CheckedFiles = Annotated[
    list[Path], typer.Argument(metavar="FILES", help="Two text files, or one table of pairs (.tsv, .csv, .jsonl).")
]
Threshold = Annotated[
    float, typer.Option(min=0.0, max=1.0, metavar="X", help="Severity from which a pair is left out of the clean copy.")
]
CleanFiles = Annotated[
    tuple[Path, Path] | None, typer.Option("--clean", metavar="SOURCE TARGET", help="Write the pairs that stay.")
]
DroppedFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the pairs that go, with reasons, as JSON lines.")
]
HtmlFile = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with examples.")]


@data_app.command("check")
def check_command(
    files: CheckedFiles,
    *,
    threshold: Threshold = 0.5,
    clean: CleanFiles = None,
    dropped: DroppedFile = None,
    html: HtmlFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find faults of parallel text: wrong lines, languages, encodings, numbers, copies, repetitions and others.

    regard data check train.en train.de --html check.html

    regard data check train.en train.de --clean clean.en clean.de --dropped dropped.jsonl

    Nothing is changed unless --clean names files. Short pairs have thresholds of their own.
    """
    named = {"--clean": clean and clean[0], "--dropped": dropped, "--html": html}
    named["--clean TARGET"] = clean and clean[1]
    check_all_writable(named)
    check_apart(files, {option: path for option, path in named.items() if path})
    from regard.reports.data_check import check_data, clean_report, data_check_page, faults_report, read_numbered_pairs

    lines, pairs = zip(*read_numbered_pairs(files), strict=True)
    found = check_data(pairs, say=say_unless(quiet), lines=lines)
    emit(faults_report(found, threshold), as_json=as_json)
    if clean:
        say(clean_report(found, threshold, clean, dropped))
    if html:
        write_file(html, data_check_page(found, threshold, files).encode())


CorrectionList = Annotated[
    Path,
    typer.Option("--list", metavar="FILE", help="Corrections, as a page of explanations or --dropped writes them."),
]
MendedFiles = Annotated[tuple[Path, Path], typer.Option("--to", metavar="SOURCE TARGET", help="Where the copy goes.")]


@data_app.command("mend")
def mend_command(files: CheckedFiles, *, corrections: CorrectionList, to: MendedFiles) -> None:
    """Write a copy of parallel text without the pairs of a list, or with these mended.

    regard data mend train.en train.de --list corrections.jsonl --to clean.en clean.de

    Your files are not changed. The list comes from the page of regard explain RUN TEXT --taught WORD --html FILE.
    """
    copies = {"--to SOURCE": to[0], "--to TARGET": to[1]}
    check_all_writable(copies)
    check_apart([*files, corrections], copies)
    from regard.reports.data_check import mended_report, read_corrections

    say(mended_report(files, read_corrections(corrections), corrections, to))
