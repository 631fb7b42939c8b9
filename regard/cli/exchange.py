"""regard import"""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import say_unless
from regard.cli.options import Quiet

ForeignFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of another program's translator.")]
NewRun = Annotated[Path, typer.Option("--run", "-o", metavar="RUN", help="Run folder to make.")]
FormatName = Annotated[str | None, typer.Option("--format", metavar="NAME", help="Format, if it is not recognised.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Read pytorch_model.bin: its weights alone, no code is run.")
]
LanguageCodes = Annotated[
    tuple[str, str] | None,
    typer.Option("--languages", metavar="SOURCE TARGET", help="Language codes, for a model of several languages."),
]
CheckedTexts = Annotated[
    Path | None, typer.Option("--text", metavar="FILE", help="Source texts to compare; default: sampled pieces.")
]
CheckedCount = Annotated[
    int, typer.Option("--lines", min=0, metavar="INTEGER", help="Number of texts to compare; 0: none.")
]


def import_command(
    folder: ForeignFolder,
    run: NewRun,
    *,
    form: FormatName = None,
    languages: LanguageCodes = None,
    allow_pickle: AllowPickle = False,
    text: CheckedTexts = None,
    lines: CheckedCount = 20,
    quiet: Quiet = False,
) -> None:
    """Make a run of a model of another program.

    Reads folders of Hugging Face, OPUS-MT (MarianMTModel) and M2M100; of Marian, model.npz or model.bin; and of
    Firefox Translations. The run is used as any other: predict, serve,
    explain, evaluate, train --from. Translations are compared with those of the model's own program, if it is
    installed; the result is printed and kept in the run as certificate.json.

    regard import opus-mt-en-de -o runs/opus-en-de
    regard import opus-mt-en-de -o runs/opus-en-de --text dev.en --lines 100
    """
    from regard.exchange import format_named, format_of, import_folder
    from regard.exchange.format import ReadOptions, read_texts

    row = format_of(folder) if form is None else format_named(form)
    texts = () if text is None else read_texts(text)
    options = ReadOptions(allow_pickle, languages)
    import_folder(row, folder, run, options=options, texts=texts, count=lines, say=say_unless(quiet))
