"""regard import, export, card and average"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import say_unless
from regard.cli.options import Changes, Quiet, TranslatorRun, file_option, folder_option, integer_option, name_option

ForeignFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of another program's translator.")]
NewRun = Annotated[Path, typer.Option("--run", "-o", metavar="RUN", help="Run folder to make.")]
FormatName = Annotated[str | None, name_option("--format", help="Format, if it is not recognised.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Read pytorch_model.bin: its weights alone, no code is run.")
]
LanguageCodes = Annotated[
    tuple[str, str] | None,
    typer.Option("--languages", metavar="SOURCE TARGET", help="Language codes, for a model of several languages."),
]
TextsOfImport = Annotated[Path | None, file_option("--text", help="Source texts to compare. (default: sampled pieces)")]
TextsOfExport = Annotated[Path | None, file_option("--text", help="Source texts to compare. (default: the dev set)")]
CheckedCount = Annotated[int, integer_option("--lines", min=0, help="Number of lines to compare; 0: none.")]


def import_command(
    folder: ForeignFolder,
    run: NewRun,
    *,
    form: FormatName = None,
    languages: LanguageCodes = None,
    allow_pickle: AllowPickle = False,
    text: TextsOfImport = None,
    lines: CheckedCount = 20,
    quiet: Quiet = False,
) -> None:
    """Make a run of a model of another program.

    Reads folders of Hugging Face: OPUS-MT (MarianMTModel), M2M100 and NLLB; of Marian, model.npz or model.bin; and of
    Firefox Translations. Download the folder first. The run is used as any other: predict, serve, explain, evaluate,
    train --from. If the model's own program is installed, the translations of both are compared; the result is printed
    and kept in the run as certificate.json.

    regard import opus-mt-en-de --run runs/opus
    regard import opus-mt-en-de --run runs/opus --text dev.en --lines 100
    """
    from regard.exchange import format_named, format_of, import_folder
    from regard.exchange.format import ReadOptions, read_texts

    row = format_of(folder) if form is None else format_named(form, place="--format")
    texts = () if text is None else read_texts(text)
    options = ReadOptions(allow_pickle, languages)
    import_folder(row, folder, run, options=options, texts=texts, count=lines, say=say_unless(quiet))


AveragedRuns = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs with one network.")]
RunWeights = Annotated[
    str | None, typer.Option("--weights", metavar="NUMBERS", help="A weight for each run: 0.7,0.3. (default: equal)")
]


def average_command(runs: AveragedRuns, run: NewRun, *, weights: RunWeights = None) -> None:
    """Average the weights of several runs.

    They need the same network and the same vocabularies, as runs with one start or with other seeds of one start have.
    The mean of a start and its adaptation forgets less. The new run is used as any other, and as a start of training.

    regard average runs/seed1 runs/seed2 runs/seed3 --run runs/mean
    regard average runs/en-de runs/medicine --run runs/both --weights 0.3,0.7
    """
    from regard.errors import ConfigError
    from regard.exchange import average_runs

    try:
        parts = [float(one) for one in weights.split(",")] if weights else []
    except ValueError as error:
        raise ConfigError("--weights", f"'{weights}' are not numbers", "--weights 0.7,0.3") from error
    average_runs(runs, run, parts)
    print(f"wrote {run}, the mean of {len(runs)} runs")


TargetFormat = Annotated[
    str,
    name_option(
        "--to",
        help="Format: page (one HTML file), runtime (no torch); huggingface, ctranslate2, marian, firefox, onnx, torch",
    ),
]
NewFolder = Annotated[Path, folder_option("--output", "-o", help="Folder to make.")]
License = Annotated[
    str | None,
    name_option("--license", help="Licence of the model card. (default: of the import, or of a student's teachers)"),
]


Quantization = Annotated[
    str | None, name_option(help="Precision of the weights, where the format has a choice: float32 or int8.")
]
EmbeddingPrecision = Annotated[
    str | None, name_option(help="Precision of the embeddings, with --to runtime: float32 or int8.")
]


def export_run_command(
    run: TranslatorRun,
    changes: Changes = None,
    *,
    to: TargetFormat,
    output: NewFolder,
    text: TextsOfExport = None,
    lines: CheckedCount = 100,
    license_name: License = None,
    quantization: Quantization = None,
    tables: EmbeddingPrecision = None,
    quiet: Quiet = False,
) -> None:
    """Write a translator as a folder of another program.

    Both translate the dev set, or the lines of --text, and the translations are compared. If they differ, nothing is
    written, and the first difference is printed. With firefox, page and int8, 10 % of the characters may differ.
    The folder has a certificate and a model card.

    regard export runs/en-de --to huggingface -o en-de
    regard export runs/en-de --to ctranslate2 --quantization int8 -o en-de decoding.search.stop=full
    """
    from regard.exchange import export_folder, format_named
    from regard.exchange.format import read_texts
    from regard.predictor import load

    precisions = {"quantization": quantization, "tables": tables}
    row = format_named(to, {name: one for name, one in precisions.items() if one is not None}, "--to")
    texts = () if text is None else read_texts(text)
    progress = say_unless(quiet)
    export_folder(row, load(run, changes), output, texts=texts, count=lines, license_name=license_name, say=progress)


def export_engine(folder: Path) -> str | None:
    """Return the engine that opens an export by itself; None for a run."""
    from regard.config import read_checked

    noted = folder / "regard" / "export.json"
    try:
        return str(read_checked(noted)["format"]) if noted.is_file() else None
    except (OSError, ValueError, KeyError):
        return None  # opening the export says why


def engine_folder(run: Path, engine: str, changes: Sequence[str]) -> Path:
    """Return the export that an engine opens: the folder itself, or one of the run, which is made where it is not."""
    if export_engine(run) == engine:
        return run  # without torch, which all formats together need
    from regard.exchange import export_for_engine

    return export_for_engine(run, engine, changes, say_unless(False))


def card_command(run: TranslatorRun, *, license_name: License = None) -> None:
    """Print the model card of a translator.

    It is Markdown with the metadata of the Hugging Face hub.

    regard card runs/en-de > README.md
    """
    from regard.exchange import model_card
    from regard.predictor import load

    print(model_card(load(run), license_name=license_name), end="")
