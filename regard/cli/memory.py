"""regard memory"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, say, say_unless
from regard.cli.files import check_writable
from regard.cli.help_page import Command, PageGroup
from regard.cli.options import Json, Quiet
from regard.errors import ConfigError, DataError, RegardError, nearest

if TYPE_CHECKING:
    from regard.memory import TranslationMemory
    from regard.memory.store import TranslationUnit
    from regard.reports.report import Report
    from regard.results import MemoryMatch

memory_app = typer.Typer(
    cls=PageGroup,
    rich_markup_mode=None,
    help="Keep translations that were confirmed, and find them again.",
    no_args_is_help=True,
)

MemoryArgument = Annotated[Path, typer.Argument(metavar="MEMORY", help="File of the memory.")]
SegmentFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILES]",
        help="Translation memories (.tmx), XLIFF (.xlf, .xliff), gettext (.po), tables (.tsv, .csv, .jsonl).",
    ),
]
MemoryLanguages = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="SOURCE TARGET", help="Language codes: needed for a new memory."),
]


@memory_app.command("add", cls=Command)
def add_command(
    memory: MemoryArgument,
    files: SegmentFiles = None,
    *,
    languages: MemoryLanguages = None,
    author: Annotated[str, typer.Option(metavar="NAME", help="Translator to note beside the segments.")] = "",
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also segments of XLIFF that are neither translated nor approved, and fuzzy ones of .po."
        ),
    ] = False,
    columns: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="SOURCE TARGET", min=1, help="Of tables: the columns of source and target, from 1."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Add segments to a translation memory.

    Pairs that it has are left out, so the same file may be added again. Without files a memory is made empty.

    regard memory add en-de.memory old.tmx pairs.tsv --languages en de
    """
    from regard.memory import TranslationMemory
    from regard.memory.files import read_units

    _check_codes(languages or ())
    if languages and languages[0] == languages[1]:
        raise ConfigError("--languages", f"source and target are both '{languages[0]}'", "two languages")
    made, report = not memory.exists(), say_unless(quiet)
    with TranslationMemory(memory, languages) as store:
        try:
            for file in files or []:
                units = read_units(file, store.languages, everything=everything, columns=columns, say=report)
                counts = Counter[str]()
                new = store.add(_noted(units, author, counts))
                known, long = counts["fit"] - new, counts["long"]
                others = [f"; known already: {known:,}"] * bool(known)
                others += [f"; left out, too long: {long:,}"] * bool(long)
                report(f"{file}: {new:,} new segments{''.join(others)}")
        except RegardError:
            if made and not len(store):  # an empty memory of wrong languages would refuse the right ones
                store.close()
                memory.unlink()
            raise
        report(f"{memory}: {len(store):,} segments, {' → '.join(store.languages)}")


def _noted(units: "Iterable[TranslationUnit]", author: str, counts: Counter[str]) -> "Iterator[TranslationUnit]":
    """Yield the segments with their author, and count those that `fit` into a memory and those that are too `long`."""
    for one in units:
        counts["long" if one.too_long else "fit"] += 1
        yield one._replace(author=author)


def _check_codes(codes: Sequence[str]) -> None:
    """Raise ConfigError for what is not a language code."""
    from regard.text.language_codes import is_language_code

    for code in codes:
        if not is_language_code(code):
            hint = "a code of ISO 639, such as en, de, zh-Hans or hsb"
            raise ConfigError("--languages", f"'{code}' is not a language code", hint)


@memory_app.command("search", cls=Command)
def search_command(
    memory: MemoryArgument,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT...]", help="Texts. (default: lines of stdin)")
    ] = None,
    *,
    threshold: Annotated[
        int, typer.Option(min=30, max=100, metavar="INTEGER", help="Minimum similarity in per cent.")
    ] = 70,
    count: Annotated[
        int, typer.Option("--count", "-k", min=1, max=100, metavar="INTEGER", help="Matches of a text.")
    ] = 5,
    as_json: Json = False,
) -> None:
    """Find the segments that are most like a text.

    Prints the similarity in per cent, the source, and its translation, a match a line; an empty line ends the matches
    of a text. 101: the text before it is equal, too. 99: only capitals or punctuation differ.

    regard memory search en-de.memory "A dog runs over the field."
    """
    from regard.memory import TranslationMemory

    with TranslationMemory(memory) as store:
        for text in texts or _lines():
            found = store.search(text, threshold=threshold, limit=count)
            emit(_matches(text, found), as_json=as_json)
            if not (found or as_json):
                print()
                say(f"'{text:.60}': no segment is {threshold} % alike (--threshold finds less similar ones)")


def _matches(text: str, matches: "Sequence[MemoryMatch]") -> "Report":
    """Return the matches of a text, a line each, and as values with the stretches of both texts that differ."""
    from regard.reports.report import Report

    values = [one._asdict() for one in matches]
    lines = [f"{one.percent}\t{one.source}\t{one.target}\n" for one in matches]
    return Report([], {"text": text, "matches": values}, "".join(lines))


def _lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield line.decode(errors="replace").rstrip("\r\n")


@memory_app.command("remove", cls=Command)
def remove_command(
    memory: MemoryArgument,
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="Text of the segment.")] = None,
    target: Annotated[str | None, typer.Argument(metavar="[TARGET]", help="Its translation.")] = None,
    *,
    author: Annotated[
        str, typer.Option(metavar="NAME", help="Count the segments of this translator; with --yes remove them.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Remove the segments of --author.")] = False,
    quiet: Quiet = False,
) -> None:
    """Remove a segment that is wrong, or all segments of an author.

    The author is noted beside a segment (regard memory search --json prints it): the name of `add --author`, or
    of the client that confirmed it on a server. A key also stands for all translators that confirmed with it.

    regard memory remove en-de.memory "A dog runs." "Ein Hund rent."
    regard memory remove en-de.memory --author office
    regard memory remove en-de.memory --author office --yes
    """
    if bool(author) == (source is not None) or (source is None) != (target is None) or yes > bool(author):
        hint = "SOURCE and its translation, or --author NAME"
        raise ConfigError("regard memory remove", "takes a text with its translation, or an author", hint)
    from regard.memory import TranslationMemory

    with TranslationMemory(memory) as store:
        if author:
            _remove_author(store, author, yes)
        elif not store.remove(source or "", target or ""):
            raise DataError(memory, "has no such segment", hint=f'regard memory search {memory} "{source}"')
        say_unless(quiet)(f"{memory}: {len(store):,} segments")


def _remove_author(store: "TranslationMemory", author: str, sure: bool) -> None:
    """Print the number of segments of an author or key, and remove them where it is `sure`."""
    authors = store.authors()
    found = {one: count for one, count in authors.items() if one == author or one.endswith(f" ({author})")}
    if not found:
        raise DataError(store.path, f"has no segments of '{author}'", hint=nearest(author, filter(None, authors)))
    for one, count in found.items():
        if sure:
            print(f"{one!r}: {store.remove_author(one):,} segments removed")
        else:
            print(f"{one!r}: {count:,} segments; --yes removes them")


@memory_app.command("export", cls=Command)
def export_units_command(
    memory: MemoryArgument,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write: .tmx, .xlf (1.2), .xliff (2.0), .tsv; also .gz."
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Write all segments as TMX, XLIFF or a table.

    regard memory export en-de.memory -o en-de.tmx
    """
    check_writable(output, "--output")
    from regard.memory import TranslationMemory
    from regard.memory.files import write_units

    with TranslationMemory(memory) as store:
        count = write_units(output, store.segments(), store.languages)
    say_unless(quiet)(f"{output}: {count:,} segments")
