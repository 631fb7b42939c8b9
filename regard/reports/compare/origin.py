"""What the comment at the head of a config says of where it comes from."""

from itertools import takewhile
from pathlib import Path
from typing import NamedTuple


class Origin(NamedTuple):
    """`# paper: URL` and `# published: FIGURE on DATA`, a line each; None where a config has no such line."""

    paper: str | None = None
    published: str | None = None


def origin_of(config: Path) -> Origin:
    """Reads the comment a config begins with. Raises OSError where the file cannot be read."""
    with config.open(encoding="utf-8") as file:
        lines = [line.lstrip("#").strip() for line in takewhile(lambda line: line.startswith("#"), file)]
    said = {name: value.strip() for name, _, value in (line.partition(": ") for line in lines)}
    return Origin(said.get("paper"), said.get("published"))
