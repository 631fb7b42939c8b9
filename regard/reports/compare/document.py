"""The report of a comparison as Markdown, and what of it a terminal shows."""

from collections.abc import Iterator

from regard.explain.tokens import visible_line
from regard.reports.compare.notes import notes
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import plain
from regard.reports.compare.tables import length_table, main_table, origin_table


def markdown(compared: Compared) -> str:
    """All tables, and how they came about. Nothing in it is read as markup that was not meant so."""
    return "\n".join(_blocks(compared))


def terminal(compared: Compared, width: int) -> str:
    """The table of results, and the one by length where it is not wider than the terminal."""
    told, lengths = main_table(compared).text(), length_table(compared).text()
    fits = compared.buckets and max(map(len, lengths.splitlines())) <= width
    return f"{told}\n{compared.metrics[0]} by words of the source (sentences)\n{lengths}" if fits else told


def _blocks(compared: Compared) -> Iterator[str]:
    """Of lines, each with its end."""
    yield f"# {plain(compared.title)}\n"
    yield main_table(compared).markdown()
    yield _listed(notes(compared))
    if compared.buckets:
        yield f"## {plain(compared.metrics[0])} by words of the source (sentences)\n"
        yield length_table(compared).markdown()
    origins = origin_table(compared)
    if origins is not None:
        yield "## What was published\n"
        yield origins.markdown()
    if compared.failed:
        yield "## Runs that failed\n"
        yield _listed([f"{name}: {why}" for name, why in compared.failed.items()])
    yield "## How it was made\n"
    yield f"{plain(compared.made)}\n"
    if compared.about.get("command"):
        yield f"    {visible_line(str(compared.about['command']))}\n"


def _listed(lines: list[str]) -> str:
    return "".join(f"- {plain(line)}\n" for line in lines)
