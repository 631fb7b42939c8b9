"""regard embeddings"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.emit import check_plot_file, emit, say, write_file
from regard.cli.files import check_writable
from regard.cli.help_page import Command, PageGroup
from regard.cli.options import Json, Plot, integer_option, name_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.runs.embeddings import Embeddings
    from regard.text.vector_table import VectorTable


class ColumnAnywhere(PageGroup):
    """Reads --column wherever it stands, also behind RUN and the words of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _column_first(args))


embeddings_app = typer.Typer(cls=ColumnAnywhere, rich_markup_mode=None, no_args_is_help=True)

VectorsRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a file of vectors.")]
ColumnOption = Annotated[str | None, name_option(help="source, document ... (default: the first text column)")]
WordArgument = Annotated[str, typer.Argument(metavar="WORD", help="A word.")]
CountOption = Annotated[int, integer_option("--count", "-k", min=1, help="Number of words.")]
VectorsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="word2vec's binary format for .bin, projector tables for .tsv, else its text format; .gz compresses.",
    ),
]
Binary = Annotated[bool, typer.Option("--binary", help="Write word2vec's binary format.")]
Tsv = Annotated[bool, typer.Option("--tsv", help="Write vectors, and words in FILE.words.tsv, for projector tools.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
_BINARY, _TABLE = ".bin", ".tsv"  # endings
COLUMN = "--column"


@embeddings_app.callback()
def embeddings(context: typer.Context, run: VectorsRun, *, column: ColumnOption = None) -> None:
    """Query and export word vectors.

    regard embeddings runs/brown-skip-gram nearest house
    """
    context.obj = run, column


@embeddings_app.command("nearest", cls=Command)
def nearest_command(
    context: typer.Context,
    word: WordArgument,
    *,
    count: CountOption = 10,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """List the nearest words, by cosine similarity.

    regard embeddings runs/brown-skip-gram nearest house
    """
    check_plot_file(plot)
    from regard.reports.neighbourhood import nearest_report

    emit(nearest_report(_read(context).spelled(word), word, count), as_json=as_json, plot=plot)


@embeddings_app.command("analogy", cls=Command)
def analogy_command(
    context: typer.Context,
    a: WordArgument,
    b: WordArgument,
    c: WordArgument,
    *,
    count: CountOption = 10,
    as_json: Json = False,
) -> None:
    """Solve an analogy, A to B as C to ?: the words nearest to B - A + C.

    regard embeddings runs/brown-skip-gram analogy man king woman
    """
    from regard.reports.neighbourhood import neighbours_report

    emit(neighbours_report(_read(context).table.analogy(a, b, c, count)), as_json=as_json)


@embeddings_app.command("similarity", cls=Command)
def similarity_command(context: typer.Context, a: WordArgument, b: WordArgument) -> None:
    """Print the cosine similarity of two words.

    regard embeddings runs/brown-skip-gram similarity house home
    """
    found = _read(context)
    one, other = found.spelled(a).direction(a), found.spelled(b).direction(b)
    print(f"{float(one @ other):.4f}")


@embeddings_app.command("export", cls=Command)
def export_command(
    context: typer.Context, file: VectorsFile, *, binary: Binary = False, tsv: Tsv = False, force: Force = False
) -> None:
    """Write all vectors in word2vec's format.

    regard embeddings runs/brown-skip-gram export vectors.bin
    """
    from regard.packed import unpacked_name
    from regard.text.vector_files import write_word2vec

    if binary and tsv:
        raise ConfigError("--tsv", "is a text, which --binary is not", "give one of them")
    ending = Path(unpacked_name(file)).suffix
    tsv = tsv or (ending == _TABLE and not binary)
    for one in (file, _words_of(file)) if tsv else (file,):
        if one.is_file() and not force:
            raise ConfigError(str(one), "exists", "choose another name, or overwrite it: --force")
        check_writable(one, "FILE")
    table = _read(context).table
    if tsv:
        _write_tsv(file, table)
    else:
        write_word2vec(file, table, binary=binary or ending == _BINARY)
    say(f"wrote {len(table):,} vectors of {table.vectors.shape[1]:,} numbers to {file}")


def _read(context: typer.Context) -> "Embeddings":
    from regard.runs.embeddings import read_embeddings

    return read_embeddings(*context.obj)


def _column_first(args: list[str]) -> list[str]:
    """The same words with --column and its value in front; words behind -- are not options."""
    end = args.index("--") if "--" in args else len(args)
    for place, word in enumerate(args[:end]):
        if word == COLUMN or word.startswith(f"{COLUMN}="):
            behind = min(place + 1 + (word == COLUMN), end)
            return [*args[place:behind], *args[:place], *args[behind:]]
    return args


def _words_of(file: Path) -> Path:
    """Where the words of a table go."""
    return file.with_name(f"{file.name}.words.tsv")


def _write_tsv(file: Path, table: "VectorTable") -> None:
    """The two files that projectors read: vectors, and a word for each."""
    rows = ("\t".join(f"{number:.6g}" for number in vector) for _, vector in table)
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    write_file(_words_of(file), "".join(f"{word}\n" for word in table.words).encode())
