"""Monolingual text beside pairs: settings of the rounds, and the initial files of a back-translation."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from annotated_types import Gt, Le

from regard.config import (
    Doc,
    PartOf,
    as_values,
    merge,
    parse_changes,
    read_settings,
    read_yaml,
    staged,
    write_atomically,
    write_checked,
    write_yaml,
)
from regard.config.bounds import Fraction, Size
from regard.data.readers.lines import read_lines
from regard.decoding import SEARCHES
from regard.errors import ConfigError, DataError
from regard.experiment import read_experiment
from regard.experiment.data import by_ending
from regard.registry import Choice
from regard.runs.folder import RunFolder
from regard.runs.texts import Say, evaluation_reader, training_texts
from regard.statistical.language_checks import PlainText, check_expected_language, check_two_languages

ROUNDS_FOLDER, ROUNDS_FILE = "rounds", "rounds.json"  # in the folder of the result: all its intermediate files
BASE_SETTINGS = "settings.yaml"  # of every training
TEXT_SIDES = ("source", "target")
_PREFIX = "back_translation."  # of its settings among changes


@dataclass(frozen=True)
class BackTranslationSettings:
    """Rounds of back-translation, for `regard train` with monolingual text (--text-target, --text-source)."""

    rounds: Annotated[Size, Doc("Rounds of back-translation after that of the pairs alone.")] = 2
    search: Annotated[Choice, PartOf(SEARCHES), Doc("Search of the back-translations: greedy, beam or sampling.")] = (
        Choice("greedy")
    )
    tag: Annotated[bool, Doc("Begin each synthetic source with a piece of its own.")] = True
    ratio: Annotated[
        float, Gt(0), Le(2), Doc("Synthetic batches for each batch of pairs, at most; fewer where such pairs are few.")
    ] = 2.0
    top_fraction: Annotated[float, Gt(0), Le(1), Doc("Fraction of the translations to keep, by score.")] = 1.0
    lm_weight: Annotated[
        float, Doc("Weight of an n-gram model's log-probability per word of a translation in its score.")
    ] = 0.0
    round_trip: Annotated[Fraction, Doc("Fraction to drop after that: lines with the lowest round-trip BLEU.")] = 0.1
    self_training: Annotated[
        bool, Doc("Learn the model's own translations of source text, too; without target text this is always done.")
    ] = False


class BackTranslationRequest(NamedTuple):
    """Pairs, further text and settings of a training."""

    folder: Path  # the run that is made
    config: Path | None = None
    changes: Sequence[str] = ()  # settings of every training, with the files of the pairs
    text: Mapping[str, Path] = MappingProxyType({})  # of one language, by side: source, target
    settings: BackTranslationSettings = BackTranslationSettings()


def in_rounds(folder: Path) -> bool:
    """Return whether a folder has a back-translation that has begun."""
    return (folder / ROUNDS_FOLDER / ROUNDS_FILE).is_file()


def rounds_settings(changes: Sequence[str], rounds: int | None = None) -> tuple[BackTranslationSettings, list[str]]:
    """Return the settings `back_translation.NAME=VALUE` among changes, and the other changes. Raises ConfigError."""
    own = [one for one in changes if one.startswith(_PREFIX)]
    given = parse_changes(one.removeprefix(_PREFIX) for one in own)
    try:
        settings = read_settings(BackTranslationSettings, given if rounds is None else {**given, "rounds": rounds})
    except ConfigError as error:
        raise ConfigError.of(fault._replace(place=_PREFIX + fault.place) for fault in error.faults) from error
    return settings, [one for one in changes if one not in own]


def prepare_rounds(request: BackTranslationRequest, say: Say) -> None:
    """Write texts and settings, all or none, into the folder, which is locked and must be empty."""
    RunFolder(request.folder).check_free()
    place = request.folder.absolute() / ROUNDS_FOLDER
    new = staged(place)  # in the folder, which may be another disk than where it is
    changes = [one for one in request.changes if not one.startswith("run=")]
    experiment = read_experiment(request.config, changes)
    if experiment.task.name != "translation" or experiment.data.routes or experiment.init is not None:
        raise ConfigError("--text-target", "needs a translator of one language pair, trained from scratch")
    parts = {"train": [*training_texts(experiment)]}
    parts |= {part: [one.texts for one in evaluation_reader(experiment, part) or ()] for part in ("dev", "test")}
    is_config = request.config and by_ending(str(request.config)) is None  # else a table of pairs
    config = request.config if is_config else None
    kept = merge({} if config is None else read_yaml(config), parse_changes(changes))
    try:
        for part, rows in parts.items():
            for side in TEXT_SIDES if rows else ():
                write_sentences(new / "texts" / f"{part}.{side}", [str(row[side]) for row in rows])
        known = {side: {str(row[side]).strip() for rows in parts.values() for row in rows} for side in TEXT_SIDES}
        for side, lines in _one_language(request.text, parts["train"], known, say).items():
            write_sentences(new / "texts" / f"text.{side}", lines)
        write_yaml(new / BASE_SETTINGS, {group: one for group, one in kept.items() if group not in ("data", "run")})
        pair = experiment.data.language_pair()
        write_checked(
            new / ROUNDS_FILE,
            {"settings": as_values(request.settings), "languages": [*pair] if None not in pair else None},
        )
        new.rename(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _one_language(
    text: Mapping[str, Path], train: Sequence[Mapping[str, Any]], known: Mapping[str, set[str]], say: Say
) -> dict[str, list[str]]:
    """Return the distinct lines of each text that are not on the same side of the pairs. Raises DataError."""
    if not text:
        raise ConfigError("--text-target", "must be given, or --text-source", "a file of text of one language")
    found = {side: [*dict.fromkeys(filter(None, map(str.strip, read_lines(file))))] for side, file in text.items()}
    pairs = {side: PlainText(f"{side} of the pairs", [str(row[side]) for row in train]) for side in TEXT_SIDES}
    plain = {side: PlainText(str(text[side]), lines) for side, lines in found.items()}
    if len(plain) > 1:
        check_two_languages(plain["source"], plain["target"])
    for side, one in plain.items():
        check_expected_language(one, pairs[side], pairs[_other(side)])
        kept = [line for line in one.lines if line not in known[side]]
        say(
            f"{text[side].name}: {len(one.lines):,} different lines, {len(one.lines) - len(kept):,} of them left out:"
            f" they occur in the {side} of the pairs"
        )
        if not kept:
            raise DataError(text[side], "has only lines that the pairs have", hint="give other text")
        found[side] = kept
    return found


def _other(side: str) -> str:
    return TEXT_SIDES[side == TEXT_SIDES[0]]


def write_sentences(path: Path, lines: Sequence[str]) -> None:
    """Write lines to a file atomically; line ends within them become spaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{' '.join(line.split())}\n" for line in lines))
