"""Apply a list of pairs that are to be dropped or mended, as a page of explanations or a data check writes it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.config import parse_json
from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.reports.data_check.check_data import read_numbered_pairs, write_pairs
from regard.statistical.pair_checks import TextPair


class Correction(NamedTuple):
    """Correction of a pair: a mended target in place of the old one, or none, which drops the pair."""

    line: int  # from 1
    source: str
    target: str
    mended: str | None = None
    files: Sequence[str] = ()  # that have the pair; none: whichever are mended


def read_corrections(path: Path) -> list[Correction]:
    """Return the corrections of a list, one JSON object a line. Raises DataError with the line that is none."""
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            values = parse_json(line)
            one = Correction(*(values.get(name, default) for name, default in _FIELDS.items()))
        except (ValueError, AttributeError):
            one = Correction(0, "", "")
        if not (type(one.line) is int and one.line > 0 and _are_texts(one)):
            hint = "line, source and target of a pair: a page of regard explain --taught writes such a list"
            raise DataError(path, f"{line[:60]!r} is not a correction", line=number, hint=hint)
        found.append(one)
    return found


_FIELDS = {"line": None, "source": None, "target": None, **Correction._field_defaults}


def _are_texts(one: Correction) -> bool:
    texts = [one.source, one.target, "mended" if one.mended is None else one.mended]
    if not (isinstance(one.files, list | tuple) and all(isinstance(text, str) for text in (*texts, *one.files))):
        return False
    return bool(texts[-1].strip())  # a mended target that is empty would be a pair with one side


def mended_report(files: Sequence[Path], corrections: Sequence[Correction], list_file: Path, to: Sequence[Path]) -> str:
    """Write a copy of parallel text without the pairs of a list, or with these mended; the files stay as they are.

    Returns a line that says what was written. Raises DataError for a pair that is not in its line any more, and where
    no correction is of these files.
    """
    ours = _of_files(files, corrections, list_file)
    wanted, pairs = {one.line: one for one in ours}, list[TextPair]()
    mended = 0
    for line, pair in read_numbered_pairs(files):
        if (one := wanted.pop(line, None)) is None:
            pairs.append(pair)
            continue
        if pair != (one.source, one.target):
            raise _changed(list_file, files, line)
        if one.mended is not None:
            pairs.append(TextPair(pair.source, one.mended))
            mended += 1
    if wanted:
        raise _changed(list_file, files, min(wanted))
    write_pairs(to, pairs)
    dropped = len({one.line for one in ours}) - mended
    return f"wrote {len(pairs):,} pairs to {' and '.join(map(str, to))}: {dropped:,} dropped, {mended:,} mended"


def _of_files(files: Sequence[Path], corrections: Sequence[Correction], list_file: Path) -> list[Correction]:
    """Return the corrections of files: those of their paths, else those of files of their names, if these are one set.

    Raises DataError where there are none, or where files of several folders have these names.
    """
    names = [file.name for file in files]
    listed = {tuple(one.files) for one in corrections}
    named = {one for one in listed if [Path(name).name for name in one] == names}
    same = {one for one in named if [Path(name).resolve() for name in one] == [file.resolve() for file in files]}
    if not same and len(named) > 1:
        known = "; ".join(sorted(" and ".join(one) for one in named))
        problem = f"has corrections of several files with the names {' and '.join(names)}, none in this folder"
        raise DataError(list_file, problem, hint=f"name the files by one of these paths: {known}")
    chosen = (same or named) | {()}
    ours = [one for one in corrections if tuple(one.files) in chosen]
    if not ours:
        known = "; ".join(sorted(" and ".join(one) for one in listed if one)) or "none"
        problem = f"has no correction of {' and '.join(names)}"
        raise DataError(list_file, problem, hint=f"its corrections are of {known}")
    return ours


def _changed(list_file: Path, files: Sequence[Path], line: int) -> DataError:
    problem = f"the pair of line {line:,} of {files[0]} is not the one that is listed"
    return DataError(list_file, problem, hint="the files have changed: explain again, or give the files as they were")
