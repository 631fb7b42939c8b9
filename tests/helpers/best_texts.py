"""Texts of a search with `regard best`: pairs, a dev set, and more text of either language."""

from pathlib import Path

from small_runs import SMALL

from regard.data.toy import pairs
from regard.recipes.best.pairs import write_lines

ROWS = list(pairs("de", 380, 1))
PARTS = {"train": ROWS[:120], "dev": ROWS[120:140], "more": ROWS[140:]}
SHORT = [*SMALL, "text.tokenizer.size=400", "training.max_updates=4"]


def write_parts(folder: Path) -> Path:
    """Write the texts, PART.en and PART.de; the lines of `more` do not translate each other."""
    for part, rows in PARTS.items():
        for side, code in enumerate(("en", "de")):
            some = rows[120 * side : 120 * side + 120] if part == "more" else rows
            write_lines(folder / f"{part}.{code}", [pair[side] for pair in some])
    return folder


def options(texts: Path, *more: object) -> list[object]:
    """The options of a search of the pairs with its dev set, in the folder `run`."""
    dev = ["--dev-source", texts / "dev.en", "--dev-target", texts / "dev.de"]
    return ["--source", texts / "train.en", "--target", texts / "train.de", *dev, "--run", texts / "run", *more]
