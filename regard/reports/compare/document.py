"""The report of a comparison as Markdown, and what of it a terminal shows."""

from collections.abc import Iterator

from regard.explain.tokens import visible_line
from regard.reports.compare.notes import gain_note, length_note, notes
from regard.reports.compare.summary import Compared
from regard.reports.compare.table import plain
from regard.reports.compare.tables import gain_table, length_table, main_table, origin_table


def markdown(compared: Compared) -> str:
    """All tables, and how they came about. Nothing in it is read as markup that was not meant so."""
    return "\n".join(_blocks(compared))


def terminal(compared: Compared, width: int) -> str:
    """The table of results, and the one by length where it is not wider than the terminal."""
    results, lengths = main_table(compared).plain.text(), length_table(compared).plain.text()
    fits = compared.buckets and max(map(len, lengths.splitlines())) <= width
    return f"{results}\n{by_length(compared)}\n{lengths}" if fits else results


def by_length(compared: Compared) -> str:
    """What the table by length is called."""
    return f"{compared.metrics[0]} by {compared.wording.length} ({compared.wording.examples})"


def gains_by_length(compared: Compared) -> str:
    """What the table of differences by length is called."""
    return f"{compared.metrics[0]}: difference to {compared.baseline} by {compared.wording.length}"


def _blocks(compared: Compared) -> Iterator[str]:
    """Of lines, each with its end."""
    yield f"# {plain(compared.title)}\n"
    yield main_table(compared).plain.markdown()
    yield _listed(notes(compared))
    if compared.buckets:
        yield f"## {plain(by_length(compared))}\n"
        yield length_table(compared).plain.markdown()
        yield _listed([length_note(compared)])
    gains = gain_table(compared)
    if gains is not None:
        yield f"## {plain(gains_by_length(compared))}\n"
        yield gains.plain.markdown()
        yield _listed([gain_note(compared)])
    origins = origin_table(compared)
    if origins is not None:
        yield "## What was published\n"
        yield origins.plain.markdown()
    if compared.failed:
        yield "## Runs that failed\n"
        yield _listed([f"{name}: {why}" for name, why in compared.failed.items()])
    yield "## How it was made\n"
    yield f"{plain(compared.made)}\n"
    if compared.about.get("command"):
        yield f"    {visible_line(str(compared.about['command']))}\n"


def _listed(lines: list[str]) -> str:
    return "".join(f"- {plain(line)}\n" for line in lines)
