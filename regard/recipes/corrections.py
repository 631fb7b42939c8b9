"""Corrections of a translator's answers: their files, those that a run knows, and trials that hold some of them out."""

import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from re import sub
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request

from regard.config import write_atomically
from regard.config.versions import MODEL, VERSION_FOLDER, pointer_held, redo_version, undo_version, version_folder
from regard.data.readers import FILES_OF_LANGUAGES, FILES_OF_PAIRS, READERS
from regard.data.readers.jsonl import JsonlReader
from regard.data.readers.suggestions import SuggestionsReader
from regard.errors import ConfigError, DataError, RegardError
from regard.experiment.corrections import names_corrections
from regard.experiment.data import by_ending
from regard.http_body import KEY_VARIABLE, direct_opener, limited_body
from regard.registry import Choice
from regard.runs.texts import Say
from regard.text.column_names import column_names, names_line

FEWEST_CORRECTIONS = 10  # corrections
TOLERANCE = 0.1  # points of the standing set's metric
LEARNED = "learned.jsonl"  # beside a version: all corrections that it has learned
ATTEMPTED = "tried.jsonl"  # beside the versions: corrections of lessons that changed nothing
UNDONE = "undone.jsonl"  # beside the versions: corrections of undone versions
PAIR_SIDES = ("source", "target")
_ROUTE, _SECONDS = "/v1/corrections/file", 60.0
_MOST_BYTES, _MOST_SECONDS = 2**30, 600.0  # of the file of a server
_HALVED = 200  # corrections; fewer are tested in two trials, each on one half
_TESTED, _MOST_TESTED = 0.2, 100  # fraction that one trial tests, and its most corrections
_LETTERS = ("L", "M", "N")  # general categories of Unicode: letters, their marks, digits

Corrected = dict[str, str]  # text → its better translation


class UndoneVersion(NamedTuple):
    """The versions in use before and after `regard undo` or `regard redo`, and the corrections between them."""

    before: int
    now: int  # 0: the weights before all corrections
    corrections: int


class Trial(NamedTuple):
    """Corrections to learn, and others to test what was learned."""

    learned: Corrected
    tested: Corrected


def trials(name: str, pairs: Corrected, seen: Mapping[str, str], tried: Mapping[str, str]) -> list[Trial]:
    """Return trials in which each tests new corrections that it does not learn, nor texts that are nearly the same.

    Below 200 new corrections each is tested once, in one of two halves; of more a fifth is tested, 100 at most. Texts
    that differ in case, punctuation and numbers alone count as one, of which the last is tested.

    Raises ConfigError for fewer than 10 that are neither `seen` by the weights nor `tried` before. `name` is that of
    their file.
    """
    groups = dict[str, list[str]]()
    for text, better in pairs.items():
        if seen.get(text) != better:
            groups.setdefault(without_marks(text), []).append(text)
    count = sum(any(tried.get(text) != pairs[text] for text in texts) for texts in groups.values())
    if count < FEWEST_CORRECTIONS:
        new = "" if count == len(pairs) else f", {count:,} of them new, apart from case, punctuation and numbers"
        problem = f"has {len(pairs):,} correction{'' if len(pairs) == 1 else 's'}{new}"
        least = f"collect at least {FEWEST_CORRECTIONS} new ones: regard serve RUN --suggestions FILE"
        raise ConfigError(name, problem, least)
    order = sorted(groups, key=_digest)
    tested = min(_MOST_TESTED, max(FEWEST_CORRECTIONS, round(_TESTED * len(order))))
    parts = [order[::2], order[1::2]] if len(order) < _HALVED else [order[:tested]]
    return [_trial({**seen, **pairs}, {one: groups[one][-1] for one in part}) for part in parts]


def _trial(everything: Corrected, tested: Mapping[str, str]) -> Trial:
    learned = {text: better for text, better in everything.items() if without_marks(text) not in tested}
    return Trial(learned, {text: everything[text] for text in tested.values()})


def without_marks(text: str) -> str:
    """Return a text without case, spaces and punctuation, and with 0 in place of each number.

    A text of other characters alone stays as it is.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(one for one in plain if unicodedata.category(one).startswith(_LETTERS))
    return sub(r"\d+", "0", kept) or text


@contextmanager
def fetched(place: str) -> Iterator[Path]:
    """Return the file of corrections at a path, or a copy of that of the server at a URL, which is removed at the end.

    Raises RegardError where the server does not answer with it.
    """
    if not place.startswith(("http://", "https://")):
        yield Path(place)
        return
    url = f"{place.rstrip('/')}{_ROUTE}"
    key = os.environ.get(KEY_VARIABLE)
    request = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "corrections.jsonl"
        try:
            with direct_opener().open(request, timeout=_SECONDS) as answer, path.open("wb") as file:
                file.writelines(limited_body(answer, most=_MOST_BYTES, seconds=_MOST_SECONDS))
        except HTTPError as error:
            hint = f"a key with the right admin in {KEY_VARIABLE}" if error.code in (400, 403) else ""
            raise RegardError(
                f"{url}: answers {error.code}: {error.reason}" + (f" ({hint})" if hint else "")
            ) from error
        except (OSError, HTTPException) as error:
            raise RegardError(f"{url}: {getattr(error, 'reason', error)}") from error
        yield path


def corrected_texts(path: Path, languages: tuple[str, str], say: Say = lambda line: None) -> Corrected:
    """Return the corrections of a language pair, the last one of each text.

    Raises DataError where the file has none, ConfigError for one of another kind.
    """
    if not path.is_file():
        raise DataError(path, "there is no such file")
    named = by_ending(str(path))
    kind = "suggestions" if names_corrections(str(path)) else "" if named is None else str(named["name"])
    if kind not in ("suggestions", *FILES_OF_PAIRS):
        hint = f"the file of regard serve --suggestions (.jsonl), or pairs: .{', .'.join(FILES_OF_PAIRS)}"
        raise ConfigError(str(path), "has an unknown ending", hint)
    named_languages = {"languages": [*languages]} if kind in ("suggestions", *FILES_OF_LANGUAGES) else {}
    reader = READERS.build(Choice(kind, {"file": str(path), **named_languages}), PAIR_SIDES, place="")
    pairs = ([" ".join(str(example.texts[side]).split()) for side in PAIR_SIDES] for example in reader)
    names = column_names(pairs) if "header" in READERS.settings(kind) else None
    if names:
        say(names_line(path, names))
    found = Corrected()
    for example in islice(reader, 1 if names else 0, None):
        source, target = (" ".join(str(example.texts[side]).split()) for side in PAIR_SIDES)
        if source and target:
            found.pop(source, None)
            found[source] = target
    if not found:
        raise DataError(path, f"has no correction from {' to '.join(languages)}")
    if len(found) >= FEWEST_CORRECTIONS and len({*found.values()}) == 1:
        raise DataError(
            path, f"all translations are '{next(iter(found.values())):.40}'", hint="is it the right column?"
        )
    if isinstance(reader, SuggestionsReader):
        say(f"{path.name}: {reader.summary()}")
    return found


def seen_corrections(run: Path) -> Corrected:
    """Return the corrections that a version has learned; none for other runs."""
    return kept_pairs(run.parent / LEARNED) if run.name == MODEL else {}


def noted_corrections(run: Path, name: str) -> Corrected:
    """Return the corrections in a file beside a run's versions: ATTEMPTED or UNDONE."""
    return kept_pairs(run / VERSION_FOLDER / name)


def note_corrections(run: Path, name: str, added: Mapping[str, str], removed: Mapping[str, str]) -> None:
    """Add corrections to such a file, and remove others."""
    with pointer_held(run):
        kept = {text: better for text, better in noted_corrections(run, name).items() if removed.get(text) != better}
        keep_pairs(run / VERSION_FOLDER / name, {**kept, **added})


def undo_teaching(run: Path) -> UndoneVersion:
    """Bring the version before the one in use back. The corrections of the undone one are not taught again.

    Raises ConfigError where there is no version before.
    """
    undone = Corrected()

    def note(number: int, before: int) -> None:
        undone.update(_between(run, number, before))
        keep_pairs(run / VERSION_FOLDER / UNDONE, {**noted_corrections(run, UNDONE), **undone})

    number, before = undo_version(run, note)
    return UndoneVersion(number, before, len(undone))


def redo_teaching(run: Path) -> UndoneVersion:
    """Bring the version that was undone last back. Raises ConfigError where there is none."""
    before, number = redo_version(run)
    again = _between(run, number, before)
    note_corrections(run, UNDONE, {}, again)
    return UndoneVersion(before, number, len(again))


def _between(run: Path, later: int, earlier: int) -> Corrected:
    """Return the corrections that a version has learned, and an earlier one has not."""
    had = seen_corrections(version_folder(run, earlier) / MODEL) if earlier else {}
    found = seen_corrections(version_folder(run, later) / MODEL)
    return {text: better for text, better in found.items() if had.get(text) != better}


def keep_pairs(file: Path, pairs: Mapping[str, str]) -> None:
    """Write corrections, a pair a line."""
    rows = (json.dumps({"source": text, "target": better}, ensure_ascii=False) for text, better in pairs.items())
    write_atomically(file, "".join(f"{row}\n" for row in rows))


def kept_pairs(file: Path) -> Corrected:
    """Return the corrections of a file that `keep_pairs` wrote; none where there is no such file."""
    if not file.is_file() or not file.stat().st_size:
        return {}
    return {str(one.texts["source"]): str(one.texts["target"]) for one in JsonlReader(PAIR_SIDES, file=str(file))}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
