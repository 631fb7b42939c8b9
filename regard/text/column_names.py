"""Column names in the first line of a table of pairs: one rule for all commands that read such tables."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from regard.text.language_counts import count_languages

_NAMES = {
    *("source", "src", "input", "text", "target", "tgt", "trg", "translation", "output"),
    *("arabic", "chinese", "czech", "dutch", "english", "french", "german", "hindi", "italian", "japanese", "korean"),
    *("polish", "portuguese", "russian", "spanish", "turkish", "ukrainian", "vietnamese"),
    *("deutsch", "español", "français", "italiano", "português"),
}
_CODE_LENGTH = 2
_SAMPLE = 200  # rows that tell the languages


def column_names(rows: Iterable[Sequence[str]]) -> tuple[str, ...] | None:
    """Return the cells of the first row if these are column names, None if they are a pair.

    They are two different names, each of which is a side (source, tgt, translation …), a language (english), or the
    language code of the column below it: `it`, `es` is a pair in a table of English and German.
    """
    cells = iter(rows)
    first = tuple(cell.strip() for cell in next(cells, ()))
    names = [cell.lower() for cell in first]
    codes = [place for place, name in enumerate(names) if name not in _NAMES]
    if len({*names}) < max(2, len(names)) or any(len(names[place].split("-")[0]) != _CODE_LENGTH for place in codes):
        return None
    columns = [*zip(*islice(cells, _SAMPLE), strict=True)] if codes else []
    found = [count_languages(columns[place]).most_common(1) if columns else [] for place in codes]
    same = all(one and one[0][0] == names[place].split("-")[0] for place, one in zip(codes, found, strict=True))
    return first if same else None


def names_line(path: Path, names: Sequence[str]) -> str:
    """Return the line that reports a first row that was read as column names."""
    return f"{path.name}: first line read as column names: {', '.join(names)}"
