"""The texts of `regard best`: pairs read and cleaned, a dev set, more text without what would flatter the figures."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.config.atomic_write import staged
from regard.data.readers.lines import digest, read_lines
from regard.errors import ConfigError, DataError
from regard.experiment.data import pair_of
from regard.registry import Choice
from regard.reports.data_check.check_data import check_data, read_text_pairs
from regard.runs.texts import Say
from regard.statistical.language_checks import PlainText, check_expected_language, check_two_languages
from regard.statistical.pair_checks import CLEAR_FAULT, PAIR_CHECKS, TextPair, check_class

_LEAST_DEV, _MOST_DEV, _DEV_SHARE = 10, 1_000, 0.1  # pairs of a dev set; share of the pairs where none is given
_MOST_CHECKED = 50_000  # pairs, beyond which only quick checks are made
_SEED = 1  # of the order
_DIGITS = 6  # of a digest in the name of a folder
_OVERLAP = 0.05  # share of the dev set that may stand among the pairs, which lose it then
_SIDES = TextPair._fields  # source and target
_FAULTS_LISTED = "regard data check lists them"


class BestTexts(NamedTuple):
    """The texts of a search, as files that do not change any more."""

    train: Mapping[str, Path]  # by column, cleaned
    dev: Mapping[str, Path]
    more: Mapping[str, Path]  # further text of one language, by column; may lack both
    languages: tuple[str, str] | None  # codes

    def data(self, train: Mapping[str, Path] | None = None, *, turned: bool = False) -> list[str]:
        """Return the settings of a training on the pairs, or on others; `turned`: from target to source."""
        sides = {"source": "target", "target": "source"} if turned else {"source": "source", "target": "target"}
        parts = {"train": train or self.train, "dev": self.dev}
        files = [
            f"data.{part}.{side}={json.dumps(str(paths[other]))}"
            for part, paths in parts.items()
            for side, other in sides.items()
        ]
        codes = self.languages and (self.languages[::-1] if turned else self.languages)
        return [*files, "data.test_fraction=0", *([f"data.languages={json.dumps(codes)}"] if codes else [])]


def default_folder(files: Sequence[Path]) -> Path:
    """Return the run folder of a search in these files, by their languages or name, and by their content.

    The same files give the same folder, so that the same command goes on. Raises DataError for a file that is missing.
    """
    digests = hashlib.sha256(b"".join(digest(file) for file in files)).hexdigest()
    languages = _languages(files) or (files[0].name.partition(".")[0],)
    return Path("runs") / "-".join(("best", *languages, digests[:_DIGITS]))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text of lines one after another; a process that is killed meanwhile leaves none behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = staged(path)
    try:
        with made.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def make_texts(
    folder: Path,
    pairs: Sequence[Path],
    dev: Sequence[Path],
    more: Mapping[str, Path],
    say: Say,
) -> BestTexts:
    """Write the texts of a search into a folder: files of pairs, and of a dev set, or none; `more` text by language.

    Pairs and lines are in random order: steps translate as many of the first ones as they have time for, and many texts
    begin with their short lines. Raises RegardError for files that do not fit each other, for a dev set among the
    pairs, and where none is left.
    """
    found = read_text_pairs(pairs, say)
    names = [name for name in PAIR_CHECKS if check_class(name).quick or len(found) <= _MOST_CHECKED]
    check = check_data(found, names)
    faults = check.dropped(CLEAR_FAULT)
    faulty = {one.row for one in faults}
    train = [pair for row, pair in enumerate(check.pairs) if row not in faulty]
    if len(train) <= _LEAST_DEV and len(train) < len(faulty):
        (name, count), *_ = Counter(one.check for one in faults).most_common(1)
        problem = f"{len(train)} pairs are left: {count:,} of {len(found):,} have the fault '{name}'"
        raise DataError(pairs[-1], problem, hint="is one text given twice?" if name == "copied" else _FAULTS_LISTED)
    say(f"{len(train):,} pairs, {len(faulty):,} left out for clear faults ({_FAULTS_LISTED})")
    if dev:
        evaluated = [pair for pair in read_text_pairs(dev, say) if pair.source.strip() and pair.target.strip()]
        train = _without(train, evaluated, dev[0])
        evaluated = evaluated[:: max(1, len(evaluated) // _MOST_DEV)]
    else:
        train, evaluated = _held_out(train)
        say(f"{len(evaluated):,} pairs are held out as dev text")
    if len(evaluated) < _LEAST_DEV or not train:
        problem = f"leave {len(evaluated):,} pairs of dev text, and {len(train):,} to learn from"
        raise ConfigError("pairs", problem, f"{_LEAST_DEV} of dev text at least, 100 or more in all; or --dev-source")
    sides = [PlainText(str(pairs[-1 if place else 0]), [pair[place] for pair in train]) for place in range(len(_SIDES))]
    if len(pairs) > 1:
        check_two_languages(*sides)
    for side, file in more.items():
        _write_more(folder, side, file, evaluated, sides, say)
    for rows in (train, evaluated):
        random.Random(_SEED).shuffle(rows)
    _write(folder, "train", train)
    _write(folder, "dev", evaluated)
    return made_texts(folder, pairs)


def made_texts(folder: Path, pairs: Sequence[Path]) -> BestTexts:
    """Return the texts that an earlier call of `make_texts` wrote."""
    files = {part: {side: folder / f"{part}.{side}" for side in _SIDES} for part in ("train", "dev", "more")}
    more = {side: file for side, file in files["more"].items() if file.is_file()}
    return BestTexts(files["train"], files["dev"], more, _languages(pairs))


def _languages(pairs: Sequence[Path]) -> tuple[str, str] | None:
    """The codes of both languages, where the names of the files have them."""
    if len(pairs) != len(_SIDES):
        return None
    match pair_of(Choice("parallel", {"files": dict(zip(_SIDES, map(str, pairs), strict=True))})):
        case str(source), str(target):
            return source, target
    return None


def _write(folder: Path, part: str, pairs: Sequence[TextPair]) -> None:
    for side, texts in zip(_SIDES, zip(*pairs, strict=True), strict=True):
        write_lines(folder / f"{part}.{side}", texts)


def _without(train: list[TextPair], dev: Sequence[TextPair], file: Path) -> list[TextPair]:
    """The pairs that do not stand in the dev set. Raises DataError where much of it stands among them."""
    evaluated = set(dev)
    both = evaluated & set(train)
    if len(both) > _OVERLAP * len(evaluated):
        problem = f"{len(both):,} of {len(evaluated):,} dev pairs stand among the training pairs, too"
        raise DataError(file, problem, hint="give dev text that is not learnt from, or none: a part is held out then")
    return [pair for pair in train if pair not in evaluated]


def dev_size(pairs: int) -> int:
    """Return the number of pairs that are held out as a dev set."""
    return min(_MOST_DEV, int(_DEV_SHARE * pairs))


def _held_out(pairs: Sequence[TextPair]) -> tuple[list[TextPair], list[TextPair]]:
    """Pairs to learn from and a dev set that has no side in common with them, spread over all."""
    count = dev_size(len(pairs))
    step = max(1, len(pairs) // max(1, count))
    dev = list(dict.fromkeys(pairs[step // 2 :: step][:count]))
    known = [{pair[place] for pair in dev} for place in range(len(_SIDES))]
    return [pair for pair in pairs if pair.source not in known[0] and pair.target not in known[1]], dev


def _write_more(
    folder: Path, side: str, file: Path, dev: Sequence[TextPair], sides: Sequence[PlainText], say: Say
) -> None:
    """Write the different lines of a text that are not dev lines.

    Raises DataError where none is left, or where they are in the language of the other of the two sides.
    """
    if not file.is_file():
        raise DataError(file, "there is no such file")
    known = {pair[_SIDES.index(side)].strip() for pair in dev}
    lines = _different(read_lines(file))
    kept = [line for line in lines if line not in known]
    if not kept:
        raise DataError(file, "has only lines of the dev set")
    own, other = sides if side == "source" else reversed(sides)
    check_expected_language(PlainText(str(file), kept), own, other)
    say(f"{len(kept):,} lines of {side} text, {len(lines) - len(kept):,} left out that are dev text")
    random.Random(_SEED).shuffle(kept)
    write_lines(folder / f"more.{side}", kept)


def _different(lines: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(text for line in lines if (text := line.strip()))]
