"""Run all checks of sentence pairs, rank what they find, and write a copy without the worst pairs."""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from regard.config import parse_json
from regard.data.readers import FILES_OF_PAIRS, READERS
from regard.data.readers.label_table import label_field
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.experiment.data import pair_of
from regard.explain.frame import bundle, framed, static
from regard.explain.tokens import visible_line
from regard.packed import file_kind, write_packed
from regard.registry import Choice
from regard.reports.report import Report
from regard.reports.table import Cell, Table
from regard.runs.texts import Say
from regard.statistical.language_checks import in_one_language, misnamed_languages
from regard.statistical.pair_checks import PAIR_CHECKS, PairCorpus, TextPair, check_class
from regard.text.column_names import column_names, names_line

SLOW = 1.0  # seconds of a check, beyond which it is reported while it runs
_SIDES = ("source", "target")


class PairFault(NamedTuple):
    """The worst fault of a pair."""

    row: int  # of the pair, from 0
    severity: float  # 0 to 1
    check: str  # row of PAIR_CHECKS
    reason: str
    pair: TextPair
    line: int  # of its files, from 1


class DataCheck(NamedTuple):
    """All pairs, and the faults of those that have any, the worst first."""

    pairs: Sequence[TextPair]
    faults: Sequence[PairFault]

    def dropped(self, threshold: float) -> list[PairFault]:
        """Return the faults of pairs that a clean copy leaves out."""
        return [one for one in self.faults if one.severity >= threshold]


def read_text_pairs(files: Sequence[Path], say: Say = lambda line: None) -> list[TextPair]:
    """Return the pairs of files, as `read_numbered_pairs` does, without their lines."""
    return [pair for _, pair in read_numbered_pairs(files, say)]


def read_numbered_pairs(files: Sequence[Path], say: Say = lambda line: None) -> list[tuple[int, TextPair]]:
    """Return the pairs of two text files, or of one file of pairs (.tsv, .csv, .jsonl, .tmx, .po), with their lines.

    A first line of column names is left out, and reported. Raises RegardError for files that cannot be read, do not
    fit each other, or are empty.
    """
    if len(files) == 2:
        choice = _parallel(files)
    elif len(files) == 1 and (kind := file_kind(files[0])) in FILES_OF_PAIRS:
        choice = Choice(kind, {"file": str(files[0])})
    else:
        kinds = ", ".join(f".{kind}" for kind in FILES_OF_PAIRS)
        raise ConfigError("FILES", f"expected two text files, or one file of pairs ({kinds})")
    for file in files:
        if not file.is_file():
            raise DataError(file, "there is no such file")
    reader = READERS.build(choice, _SIDES, place="")
    found = [(one.line, TextPair(*(str(one.texts[side]) for side in _SIDES))) for one in reader]
    if "header" in READERS.settings(choice.name) and (names := column_names(pair for _, pair in found)):
        say(names_line(files[0], names))
        del found[0]
    if not found:
        raise DataError(files[0], "has no pairs")
    if len(files) == 1 and (field := label_field(files[0], choice.name)) in (1, 2, *_SIDES):
        say(f"field {field} of {files[0].name} looks like a label: for a classifier regard train --text {files[0]}")
    return found


def _parallel(files: Sequence[Path]) -> Choice:
    """Return the reader of two text files."""
    return Choice("parallel", {"files": dict(zip(_SIDES, map(str, files), strict=True))})


def check_data(
    pairs: Sequence[TextPair],
    checks: Iterable[str] = PAIR_CHECKS,
    say: Say = lambda line: None,
    *,
    lines: Sequence[int] = (),
) -> DataCheck:
    """Return the worst fault of each pair, by the rows of PAIR_CHECKS that are named.

    `lines` are those of the pairs in their files; none: a pair a line.
    """
    corpus, worst = PairCorpus(pairs), dict[int, PairFault]()
    for name in checks:
        with _said_if_slow(say, f"checking {len(pairs):,} pairs: {check_class(name).about}"):
            findings = [*PAIR_CHECKS.build(Choice(name)).findings(corpus)]
        for row, severity, reason in findings:
            if row not in worst or severity > worst[row].severity:
                worst[row] = PairFault(row, severity, name, reason, pairs[row], lines[row] if lines else row + 1)
    return DataCheck(pairs, sorted(worst.values(), key=lambda fault: (-fault.severity, fault.row)))


@contextmanager
def _said_if_slow(say: Say, line: str) -> Iterator[None]:
    """Say a line while something is done that takes longer than SLOW seconds."""
    timer = threading.Timer(SLOW, say, (line,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def faults_report(check: DataCheck, threshold: float, files: Sequence[Path] = ()) -> Report:
    """Report, for each kind of fault, how many pairs have it, how many would be dropped, and the worst example.

    `files` hold the pairs: languages in their names are compared with the texts.
    """
    rows, values = list[list[Cell]](), list[dict[str, object]]()
    for name in sorted({one.check for one in check.faults}):
        found = [one for one in check.faults if one.check == name]
        gone = sum(one.severity >= threshold for one in found)
        worst = found[0]
        about, example = check_class(name).about, f"line {worst.line:,}: {worst.reason}"
        rows.append([Cell(about), Cell(f"{len(found):,}", len(found)), Cell(f"{gone:,}", gone), Cell(example[:80])])
        values.append({"check": name, "pairs": len(found), "dropped": gone, "example": worst.line})
    rows.sort(key=lambda row: (-(row[2].value or 0), -(row[1].value or 0)))
    gone, total = len(check.dropped(threshold)), len(check.pairs)
    summary = f"{gone:,} of {total:,} pairs ({gone / total:.2%}) have a severity of {threshold:g} or more"
    sides = PairCorpus(check.pairs).sides
    if alike := in_one_language(*sides):
        summary += "\nboth sides are in one language"
    elif len(files) == 2 and (line := misnamed_languages(sides, pair_of(_parallel(files)))):
        summary += f"\n{line}"
    table = Table(["fault", "pairs", "to drop", "worst example"], rows, texts=1)
    return Report([table], {"pairs": total, "dropped": gone, "one_language": alike, "faults": values}, summary)


def clean_report(check: DataCheck, threshold: float, files: Sequence[Path], dropped: Path | None) -> str:
    """Write the pairs that stay to two text files, and the others with their reasons as JSON lines.

    Returns a line that says what was written.
    """
    faults = check.dropped(threshold)
    gone = {one.row for one in faults}
    write_pairs(files, [pair for row, pair in enumerate(check.pairs) if row not in gone])
    if dropped is not None:
        with write_packed(dropped) as out:
            out.writelines(json.dumps(_as_json(one), ensure_ascii=False) + "\n" for one in sorted(faults))
    return f"wrote {len(check.pairs) - len(gone):,} pairs to {' and '.join(map(str, files))}, {len(gone):,} left out"


def write_pairs(files: Sequence[Path], pairs: Sequence[TextPair]) -> None:
    """Write pairs to two text files, a line each: ends of lines inside a cell of a table become spaces."""
    for side, file in enumerate(files):
        with write_packed(file) as out:
            out.writelines(pair[side].replace("\n", " ") + "\n" for pair in pairs)


def _as_json(fault: PairFault) -> dict[str, object]:
    values = {"line": fault.line, "check": fault.check, "severity": round(fault.severity, 3), "reason": fault.reason}
    return {**values, **fault.pair._asdict()}


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


_PACKAGE = "regard.reports.data_check"
_EXAMPLES = 60  # of each kind, spread over all severities
_LINES = 5  # named of equal pairs
_STEPS = 100  # of severity


def data_check_page(check: DataCheck, threshold: float, files: Sequence[Path]) -> str:
    """Return one HTML file that works from disk and asks for nothing outside itself."""
    kinds = [_kind(check, name) for name in sorted({one.check for one in check.faults})]
    data = {
        "pairs": len(check.pairs),
        "threshold": round(threshold * _STEPS),
        "files": " ".join(map(quote, map(str, files))),
        "alike": in_one_language(*PairCorpus(check.pairs).sides),
        "kinds": kinds,
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return framed(
        static("data_check.html", _PACKAGE),
        title=f"Data check: {' · '.join(file.name for file in files)}",
        script=f"{bundle('settings.js')}\nconst DATA = {text};\n{static('data_check.js', _PACKAGE)}",
        style=static("data_check.css", _PACKAGE),
        tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
    )


def _kind(check: DataCheck, name: str) -> dict[str, object]:
    """Return the errors of one kind: their number by severity, and examples from the worst to the mildest.

    Equal pairs are one example.
    """
    found = [one for one in check.faults if one.check == name]
    counts = Counter(int(one.severity * _STEPS) for one in found)
    equal = dict[TextPair, list[PairFault]]()
    for one in found:
        equal.setdefault(one.pair, []).append(one)
    different = [*equal.values()]
    step = max(1, len(different) // _EXAMPLES)
    return {
        "check": name,
        "name": check_class(name).about,
        "counts": [counts[level] for level in range(_STEPS + 1)],
        "examples": [
            {
                "lines": [one.line for one in same[:_LINES]],
                "count": len(same),
                "severity": int(one.severity * _STEPS),
                "reason": visible_line(one.reason),
                "source": visible_line(one.pair.source),
                "target": visible_line(one.pair.target),
            }
            for same in different[::step][:_EXAMPLES]
            for one in same[:1]
        ],
    }
