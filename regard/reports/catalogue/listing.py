"""regard list: parts with their settings as lines, and every mechanism of attention on one sheet.

The sheet is as wide as the terminal; in a pipe it is plain paragraphs.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from regard.aliases import bare
from regard.attention.recipes import RECIPES
from regard.errors import ConfigError, nearest
from regard.experiment import MECHANISMS, PARTS, catalogue
from regard.experiment.docstrings import COST_LETTERS
from regard.experiment.names import NAMES, look_up, look_up_place, others
from regard.experiment.tables import SOCKET_KINDS
from regard.reports.catalogue.page import KIND_TITLES
from regard.reports.report import Report

_Row = Mapping[str, Any]
_Parts = Mapping[str, Mapping[str, _Row]]

ATTENTION_SHEET = "attention"  # not a kind of part: the sheet of all parts of attention
SHEET = {**MECHANISMS, "layer": PARTS["layer"]}
_MARKS = {"cross": "cross", "encoder": "enc", "decoder": "dec"}  # heads of columns, where there is room
PIPED, INDENT = 80, "  "  # columns, for output that is not a terminal
_WIDE = 110  # columns of a terminal from which on cost, uses and paper have columns of their own


def parts_report(what: str | None) -> Report:
    """Report an index of parts, the parts of a kind, or of a name. Raises ConfigError for an unknown name."""
    if what is None:
        return Report([], catalogue() | _names(), "\n".join(_index()))
    if what == ATTENTION_SHEET:
        return Report([], catalogue(SHEET) | _names())
    chosen, said = catalogue(), list[str]()
    kind = {bare(kind): kind for kind in PARTS}.get(bare(what))  # "Scores" are a kind, too
    if kind is not None:
        chosen = {kind: chosen[kind]}
    else:
        chosen, said = _named(what, chosen)
    lines = [*said, *(line for title, rows in chosen.items() for line in [title, *_lines_of(rows)])]
    return Report([], chosen, "\n".join(lines))


def _index() -> Iterator[str]:
    """Every kind of part, and the names of its parts."""
    for kind, rows in PARTS.items():
        yield f"{kind} ({len([*rows])})"
        yield from textwrap.wrap(", ".join(rows), PIPED, initial_indent=INDENT, subsequent_indent=INDENT)
    yield "\nSettings of the parts of a kind: regard list KIND. All of attention, with papers: regard list attention."


def show_attention(console: Console) -> None:
    """Print the sheet of attention."""
    parts = catalogue(SHEET)
    show_sheet(parts, others(parts), f"cost: time for one sentence of {COST_LETTERS}", console)


def show_sheet(parts: _Parts, others: Sequence[Any], legend: str, console: Console) -> None:
    """Print parts by kind, and what other names of the literature stand for."""
    if not console.is_terminal:
        print("\n".join([*_plain(parts, others), "", *_lines(legend, PIPED)]))
        return
    names = [*(name for rows in parts.values() for name in rows), *(one.names[0] for one in others)]
    width = max(map(len, names))
    for kind, rows in parts.items():
        title = "for models of your own, in Python" if kind == "layer" else KIND_TITLES[kind].partition(": ")[2]
        console.print(_title(kind, title), _sheet(rows, width, console.width >= _WIDE))
    console.print(_title("other", "what other names of the literature stand for"), _others(others, width))
    console.print(Text(f"\n{legend}", "dim"))


def _lines_of(rows: Mapping[str, _Row]) -> Iterator[str]:
    for name, row in rows.items():
        yield f"  {name:<18} {row['about']}"
        if row["aliases"]:
            yield f"  {'':<18} also {', '.join(row['aliases'])}"
        for setting, about in row["settings"].items():
            default = f" = {json.dumps(about['default'])}" if "default" in about else " (must be given)"
            yield f"  {'':<18}   {setting}: {about['type']}{default}"


def _named(name: str, parts: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The rows that a name stands for, and what to write for it. Raises ConfigError for an unknown name."""
    place, known = look_up_place(name), look_up(name)
    if place is None and not known:
        close = nearest(name, [*parts, ATTENTION_SHEET, *(one for one, _ in NAMES)])
        hint = close if close.startswith("did") else f"kinds are {', '.join(parts)}"
        raise ConfigError("list", f"there is no kind of part called '{name}', and no part", hint)
    chosen: dict[str, Any] = {}
    for one in known:
        if one.part:
            chosen.setdefault(one.kind, {})[one.part] = parts[one.kind][one.part]
    said = [f"{name}: {place.about}: {place.use}"] if place else []
    said += [f"{name}: {one.use()}" + (f" ({one.note})" if one.note else "") for one in known]
    return chosen, list(dict.fromkeys(said))


def _names() -> dict[str, Any]:
    """Every name of an attention with its settings, and names of all else."""
    names = {name: {"settings": one.settings, "warning": one.note or None} for name, one in RECIPES.named.items()}
    return {"names": names, "elsewhere": [one._asdict() for one in others(SOCKET_KINDS)]}


# The sheet


def _title(kind: str, about: str) -> RenderableType:
    return Group("", Rule(Text.assemble((kind, "bold"), (f" · {about}", "dim")), align="left", style="dim"))


def _sheet(rows: Mapping[str, _Row], width: int, wide: bool) -> Table:
    """A row for each part; in a narrow terminal all but its name stands in one column."""
    sheet = _table(width, wide)
    for name, row in rows.items():
        uses = row.get("uses", [])
        formula = row["formula"].rstrip(".")
        if wide:
            marks = [Text("●" if use in uses else "", "green") for use in _MARKS]
            sheet.add_row(name, Text.assemble(formula, *_also(row)), row["cost"] or "", *marks, _paper(row))
        else:
            facts = [Text(fact, "green") for fact in (row["cost"] or "", ", ".join(uses)) if fact]
            line = Text(" · ").join([*facts, *filter(None, [_paper(row)])])
            sheet.add_row(name, Text.assemble(formula, "\n", line, *_also(row)))
    return sheet


def _others(others: Iterable[Any], width: int) -> Table:
    sheet = _table(width, False)
    for one in others:
        first, *more = one.names
        sheet.add_row(first, Text.assemble(one.about, ("\n" + one.use, "green"), *_also({"aliases": more})))
    return sheet


def _table(width: int, wide: bool) -> Table:
    """Return a table; all tables of a sheet have the same column widths."""
    sheet = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0), show_header=wide, header_style="dim")
    sheet.add_column(width=width, no_wrap=True, style="bold cyan")
    sheet.add_column(ratio=1, overflow="fold")
    if wide:
        sheet.add_column("cost", width=16)
        for mark in _MARKS.values():
            sheet.add_column(mark, width=5, justify="center")
        sheet.add_column("paper", width=17, overflow="fold")
    return sheet


def _also(row: _Row) -> Iterator[tuple[str, str]]:
    if row.get("notes"):
        yield "\n" + ", ".join(row["notes"]), "yellow"
    if row["aliases"]:
        yield "\nalso " + ", ".join(row["aliases"]), "dim"


def _paper(row: _Row) -> Text:
    """Return the address of a paper, short enough for a column, with the whole link in a terminal with links."""
    link = row["paper"] or ""
    short = link.partition("://")[2].replace("arxiv.org/abs/", "arXiv:").replace("aclanthology.org/", "ACL ")
    return Text(short, f"link {link}" if link else "")


def _plain(parts: _Parts, others: Iterable[Any]) -> Iterator[str]:
    """A paragraph a part: kind and name, and below them formula, uses, cost, paper and other names, none cut short."""
    for kind, rows in parts.items():
        for name, row in rows.items():
            facts = [*filter(None, [", ".join(row.get("uses", [])), row["cost"], row["paper"]])]
            lines = [row["formula"], " · ".join(facts), ", ".join(row.get("notes", []))]
            yield from _paragraph(f"{kind} {name}", lines, row["aliases"])
    for one in others:
        first, *more = one.names
        yield from _paragraph(f"other {first}", [one.about, one.use], more)


def _paragraph(head: str, lines: Iterable[str], aliases: Sequence[str]) -> Iterator[str]:
    yield head
    for text in [*lines, *([f"also {', '.join(aliases)}"] if aliases else [])]:
        yield from (f"{INDENT}{line}" for line in _lines(text, PIPED - len(INDENT)))


def _lines(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most that many columns; only a longer word, such as a link, exceeds them."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".lstrip()
        if line and cell_len(longer) > width:
            yield line
            longer = word
        line = longer
    if line:
        yield line
