"""regard data"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, say, say_unless, write_file
from regard.cli.files import check_all_writable, check_apart
from regard.cli.help_page import Command, PageGroup
from regard.cli.options import Json, Quiet, file_option, folder_option, number_option
from regard.errors import ConfigError

data_app = typer.Typer(
    cls=PageGroup, rich_markup_mode=None, help="Get sentence pairs to train on, and check them.", no_args_is_help=True
)

CorpusArgument = Annotated[
    str, typer.Argument(metavar="CORPUS", help="tatoeba, ted, news-commentary or opensubtitles.")
]
PairArgument = Annotated[str, typer.Argument(metavar="PAIR", help="Two languages: en-es.")]
DataFolder = Annotated[Path, folder_option("--to", help="Parent of the folder CORPUS_PAIR.")]
Archive = Annotated[Path | None, file_option(help="Downloaded archive (.zip), for a machine without network.")]


@data_app.command("get", cls=Command)
def get_command(
    corpus: CorpusArgument, pair: PairArgument, *, to: DataFolder = Path("data"), archive: Archive = None
) -> None:
    """Download sentence pairs from OPUS, and split them into train, dev and test sets.

    Licences differ: read them at https://opus.nlpl.eu first.

    regard data get tatoeba en-es
    """
    from regard.recipes.download import get

    print("\n".join(get(corpus, pair, to, archive)))


CheckedFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILES", help="Two text files, or one file of pairs (.tsv, .csv, .jsonl, .tmx, .po)."),
]
Threshold = Annotated[
    float, number_option(min=0.0, max=1.0, help="Minimum severity at which a pair is dropped (0 to 1).")
]
CleanFiles = Annotated[
    tuple[Path, Path] | None, typer.Option("--clean", metavar="SOURCE TARGET", help="Write the pairs that are kept.")
]
DroppedFile = Annotated[Path | None, file_option(help="Write the dropped pairs, with reasons, as JSON lines.")]
HtmlFile = Annotated[Path | None, file_option("--html", help="Write a page with examples.")]


@data_app.command("check", cls=Command)
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
    """Check parallel text: misalignment, language, encoding, numbers, copies, repetitions.

    Files change only with --clean. Short pairs have their own thresholds.

    regard data check train.en train.de --html check.html
    regard data check train.en train.de --clean clean.en clean.de --dropped dropped.jsonl
    """
    if clean and (option := next((str(path) for path in clean if str(path).startswith("--")), "")):
        raise ConfigError("--clean", f"needs two files, but {option} follows", "--clean clean.en clean.de")
    named = {"--clean": clean and clean[0], "--dropped": dropped, "--html": html}
    named["--clean TARGET"] = clean and clean[1]
    check_all_writable(named)
    check_apart(files, {option: path for option, path in named.items() if path})
    from regard.reports.data_check.check_data import (
        check_data,
        clean_report,
        data_check_page,
        faults_report,
        read_numbered_pairs,
    )

    lines, pairs = zip(*read_numbered_pairs(files, say_unless(quiet)), strict=True)
    found = check_data(pairs, say=say_unless(quiet), lines=lines)
    emit(faults_report(found, threshold, files), as_json=as_json)
    if clean:
        say(clean_report(found, threshold, clean, dropped))
    if html:
        write_file(html, data_check_page(found, threshold, files).encode())


CorrectionList = Annotated[
    Path, file_option("--list", help="Corrections, from --dropped or from a page of explanations.")
]
MendedFiles = Annotated[tuple[Path, Path], typer.Option("--to", metavar="SOURCE TARGET", help="Files of the copy.")]


@data_app.command("mend", cls=Command)
def mend_command(files: CheckedFiles, *, corrections: CorrectionList, to: MendedFiles) -> None:
    """Apply a list of corrections to a copy of parallel text.

    The list comes from the page that regard explain --taught WORD --html FILE writes. Your files do not change.

    regard data mend train.en train.de --list corrections.jsonl --to clean.en clean.de
    """
    copies = {"--to SOURCE": to[0], "--to TARGET": to[1]}
    check_all_writable(copies)
    check_apart([*files, corrections], copies)
    from regard.reports.data_check.check_data import mended_report, read_corrections

    say(mended_report(files, read_corrections(corrections), corrections, to))
