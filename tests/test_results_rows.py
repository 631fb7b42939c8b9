"""The page of all mechanisms beside their papers: its counts, statuses, links, files and commands are true."""

import re
from collections import Counter
from pathlib import Path

import pytest
from doc_blocks import ROOT, check_command, inline_commands, regard_commands

NAME = "docs/results/papers.md"
PAGE = ROOT / NAME
STATUSES = "reached", "reached, one seed", "reported", "missed", "open"
COLUMNS = "what | paper, and what it reports | goal here | ours | status | where"
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
FILE = re.compile(r"(?<![\w/.])(?:configs|tests|benchmarks)/[\w/.-]+\.(?:yaml|py)\b")
TEXT = PAGE.read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the tables with six columns."""
    lines = [line for line in text.splitlines() if line.startswith("| [")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def counted(text: str) -> tuple[int, dict[str, int]]:
    """The number of rows and the count of each status, as the top of the page has them."""
    found = re.search(r"^\*\*(\d+) rows: (.+)\.\*\*$", text, re.MULTILINE)
    assert found is not None
    each = re.findall(r"(\d+) ([a-z]+(?: \([a-z ]+\))?)(?:, |$)", found[2])
    return int(found[1]), {name.replace(" (", ", ").rstrip(")"): int(number) for number, name in each}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [LINK.sub(r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def dead(page: Path, text: str) -> list[str]:
    """Links of a page to files or sections that do not exist."""
    found = []
    for _, link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        path = page.parent / name if name else page
        if "://" not in link and not (path.is_file() and (not anchor or anchor in anchors(path))):
            found.append(link)
    return found


def test_counts_at_the_top_are_those_of_the_rows():
    total, counts = counted(TEXT)
    found = Counter(row[4] for row in rows(TEXT))
    assert (total, counts) == (len(rows(TEXT)), {status: found[status] for status in STATUSES})


def test_every_row_is_whole():
    for row in rows(TEXT):
        assert len(row) == 6 and all(row), row
        assert row[4] in STATUSES, row
        assert re.search(r"\]\(|`", row[5]), row  # a section, a config or a command
        assert row[4] != "open" or "not measured" in row[3], row
    assert len({row[0] for row in rows(TEXT)}) == len(rows(TEXT))
    assert TEXT.count(f"| {COLUMNS} |") == TEXT.count("\n## ")


def test_links_lead_to_pages_and_sections():
    assert dead(PAGE, TEXT) == []


def test_named_files_exist():
    names = set(FILE.findall(TEXT))
    assert len(names) > 20 and [name for name in sorted(names) if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("command", sorted(set(inline_commands(NAME))))
def test_commands_are_read_by_the_real_command_line(command):
    for words in regard_commands(command):
        check_command(words)


def test_what_is_wrong_is_found():
    assert counted("**3 rows: 1 reached, 2 reached (one seed).**") == (3, {"reached": 1, "reached, one seed": 2})
    page = ROOT / "docs/results/demo.md"
    links = "[a](demo.md#the-demo) [b](#the-demo) [c](demo.md#none) [d](none.md) [e](https://example.org/#x)"
    assert dead(page, links) == ["demo.md#none", "none.md"]
