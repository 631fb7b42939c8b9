"""`regard teach RUN FILE`: corrections of a translator's answers → a new version of its run.

The texts of the corrections stand beside the new run: `learned.jsonl`, and `held_out.jsonl`, by which checkpoints are
selected. The next corrections are learned together with both; only texts that no version has seen are held out.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from regard.config import as_values, own_folder, quoted, settings_file, settings_folder, write_atomically
from regard.config.versions import (
    MODEL,
    VERSION_FOLDER,
    current_version,
    new_version,
    pointer_held,
    undo_version,
    use_version,
    version_folder,
    versions_held,
)
from regard.data import READERS
from regard.data.readers.jsonl import JsonlReader
from regard.data.readers.suggestions import SuggestionsReader
from regard.errors import ConfigError, DataError, RegardError
from regard.evaluation import METRICS
from regard.evaluation.significance import SignificanceTest, paired_bootstrap
from regard.experiment import Experiment, read_experiment
from regard.experiment.corrections import is_there, names_corrections
from regard.experiment.data import OldTextSettings, by_ending
from regard.predictor import load
from regard.registry import Choice
from regard.reports.behaviour.contestants import NoRedirects
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table
from regard.runs import Run, RunFolder, train_run
from regard.runs.measurements import ADAPTATION
from regard.runs.texts import Say, old_readers
from regard.statistical.language_checks import PlainText, check_expected_language
from regard.training.interrupt import Interrupted

FEWEST_CORRECTIONS = 10  # corrections
TOLERANCE = 0.1  # points of the standing set's metric
_ROUTE, _SECONDS = "/v1/corrections/file", 60.0
ATTEMPTED = "tried.jsonl"  # beside the versions: corrections of attempts that changed nothing, and of undone versions
LEARNED, HELD_OUT = "learned.jsonl", "held_out.jsonl"
_KINDS = ("suggestions", "jsonl", "tsv", "csv", "tmx")
_SIDES = ("source", "target")
_HELD, _LEAST, _MOST = 0.2, 3, 100  # fraction of new corrections that is held out, and bounds of their number
_SHOWN = 500  # corrections that are translated by both versions
_COMPARED = 2_000  # old pairs that the languages of corrections are compared with
_COLUMNS = ("texts", "pairs", "metric", "before", "after", "difference", "95 % interval")

Corrected = dict[str, str]  # text → its better translation


class TeachingRequest(NamedTuple):
    """A run, corrections of its answers, and where the result is kept."""

    run: Path
    file: Path  # as the server writes it, or a table or memory of pairs
    output: Path | None = None  # None: the next version of the run
    old: tuple[str, str] | None = None  # texts of the first training; None: those of the run
    changes: Sequence[str] = ()
    only_new: bool = False  # corrections of attempts that changed nothing, and of undone versions, are known, too


class TaughtCorrections(NamedTuple):
    """The result: whether weights have changed, and the figures before and after."""

    changed: bool
    version: int | None  # of the run that is in use now; None: a run of its own
    report: Report


class SplitCorrections(NamedTuple):
    """Corrections to learn from, and those held out."""

    learned: Corrected
    held_out: Corrected

    @classmethod
    def of(
        cls, pairs: Corrected, seen: Mapping[str, str], tried: Mapping[str, str] = MappingProxyType({})
    ) -> "SplitCorrections":
        """Hold out a fifth of what is not `seen`, chosen by a digest of the text.

        Texts that were learned before, and are corrected once more, are held out only where there are few others.
        Raises ConfigError for too few that are neither seen nor `tried` before.
        """
        new = [one for one in pairs.items() if one not in seen.items()]
        new.sort(key=lambda one: (one[0] in seen, _digest(one[0])))  # a text that was learned before comes last
        if (count := sum(one not in tried.items() for one in new)) < FEWEST_CORRECTIONS:
            known = f", {len(pairs) - count:,} of them known to the run" if count < len(pairs) else ""
            problem = f"has {len(pairs):,} corrections{known}; at least {FEWEST_CORRECTIONS} new ones are needed"
            raise ConfigError("FILE", problem, "collect more: regard serve RUN --suggestions FILE")
        count = min(_MOST, max(_LEAST, round(_HELD * len(new))))
        held = dict(new[:count])
        return cls({text: better for text, better in {**seen, **pairs}.items() if text not in held}, held)

    def write(self, folder: Path) -> None:
        """Write both parts, a pair a line."""
        for name, pairs in ((LEARNED, self.learned), (HELD_OUT, self.held_out)):
            _write_pairs(folder / name, pairs)


def teach(request: TeachingRequest, say: Say, *, quiet: bool = False) -> TaughtCorrections:
    """Train on corrections, and keep the result if they gain and the standing set loses nothing.

    Raises ConfigError for fewer than 10 corrections, and for a run whose old texts are missing; DataError for a file
    without corrections in the run's languages; Interrupted.
    """
    start = settings_folder(request.run)
    settings_file(start)
    opened = Run.open(RunFolder(start))
    languages = _languages(opened)
    pairs = corrected_texts(request.file, languages, say)
    known = _attempted(own_folder(request.run)) if request.only_new else {}
    parts = SplitCorrections.of(pairs, seen_corrections(start), known)
    with ExitStack() as stack:
        folder, resumed = _place(request, parts, stack)
        parts.write(folder)
        experiment = _settings(request, opened, folder, say)
        _check_languages(request.file, parts, experiment)
        say(f"{len(parts.learned):,} corrections to learn from, {len(parts.held_out):,} held out (new text)")
        if train_run(experiment, resume=resumed, quiet=quiet, hints=False) is None:
            raise Interrupted(f"{request.file} is not learned yet")
        outcome = Run.open(RunFolder(folder / MODEL)).measurements.kept(ADAPTATION) or {}
        changed = outcome.get("kept") == "adapted"
        report = _report(start, folder / MODEL if changed else None, parts, outcome)
        if request.output is not None:
            return TaughtCorrections(changed, None, report)
        run = own_folder(request.run)
        if changed:
            use_version(run, int(folder.name))
        else:
            _note_attempted(run, pairs)
            shutil.rmtree(folder)
        report.values["version"] = current_version(run)
        return TaughtCorrections(changed, current_version(run), report)


def undo_teaching(run: Path) -> tuple[int, int]:
    """Bring the version before the one in use back, and return both numbers.

    The corrections of the undone version count as attempted, so a nightly lesson does not learn them again by itself.
    Raises ConfigError where there is no version before.
    """
    if number := current_version(run):
        _note_attempted(run, seen_corrections(version_folder(run, number) / MODEL))
    return undo_version(run)


@contextmanager
def fetched(place: str) -> Iterator[Path]:
    """Return the file of corrections at a path, or a copy of that of the server at a URL, which is removed at the end.

    Raises RegardError where the server does not answer with it.
    """
    if not place.startswith(("http://", "https://")):
        yield Path(place)
        return
    url = f"{place.rstrip('/')}{_ROUTE}"
    key = os.environ.get("REGARD_API_KEY")
    request = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "corrections.jsonl"
        try:
            opener = build_opener(NoRedirects)
            with opener.open(request, timeout=_SECONDS) as answer, path.open("wb") as file:
                shutil.copyfileobj(answer, file)
        except HTTPError as error:
            hint = "a key with the right admin in REGARD_API_KEY" if error.code in (400, 403) else ""
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
    if kind not in _KINDS:
        hint = "the file of regard serve --suggestions (.jsonl), or pairs: .tsv, .csv, .jsonl, .tmx"
        raise ConfigError(str(path), "has an unknown ending", hint)
    named_languages = {"languages": [*languages]} if kind in ("suggestions", "tmx") else {}
    reader = READERS.build(Choice(kind, {"file": str(path), **named_languages}), _SIDES, place="")
    found = Corrected()
    for example in reader:
        source, target = (" ".join(str(example.texts[side]).split()) for side in _SIDES)
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
    """Return the corrections that a version has learned, or that were held out of it; none for other runs."""
    files = [run.parent / name for name in (LEARNED, HELD_OUT)] if run.name == MODEL else []
    return Corrected(pair for file in files if file.is_file() for pair in _pairs(file))


def _attempted(run: Path) -> Corrected:
    file = run / VERSION_FOLDER / ATTEMPTED
    return dict(_pairs(file)) if file.is_file() else {}


def _note_attempted(run: Path, pairs: Mapping[str, str]) -> None:
    """Add to the corrections of attempts that changed nothing."""
    with pointer_held(run):
        _write_pairs(run / VERSION_FOLDER / ATTEMPTED, {**_attempted(run), **pairs})


def _write_pairs(file: Path, pairs: Mapping[str, str]) -> None:
    rows = (json.dumps({"source": text, "target": better}, ensure_ascii=False) for text, better in pairs.items())
    write_atomically(file, "".join(f"{row}\n" for row in rows))


def _pairs(file: Path) -> Iterator[tuple[str, str]]:
    if file.stat().st_size:
        yield from ((str(one.texts["source"]), str(one.texts["target"])) for one in JsonlReader(_SIDES, file=str(file)))


def _languages(run: Run) -> tuple[str, str]:
    """Return the codes of a translator of one language pair. Raises ConfigError for any other run."""
    experiment = run.experiment
    match experiment.data.language_pair():
        case (str(source), str(target)) if experiment.task.name == "translation" and not experiment.data.routes:
            return source, target
    hint = "a translator whose languages are known: data.languages=[en,de] in its training"
    raise ConfigError(str(run.path), "corrections are for a translator of one language pair", hint)


def _place(request: TeachingRequest, parts: SplitCorrections, stack: ExitStack) -> tuple[Path, bool]:
    """Return the folder of the result, and whether an interrupted training goes on there."""
    if request.output is None:
        run = own_folder(request.run)
        stack.enter_context(versions_held(run))
        return new_version(run), False
    folder, model = request.output, RunFolder(request.output / MODEL)
    begun = (folder / LEARNED).is_file() and dict(_pairs(folder / LEARNED)) == parts.learned
    if not begun or model.finished:
        RunFolder(folder).check_free()
    folder.mkdir(parents=True, exist_ok=True)
    return folder, (model.path / settings_file(model.path).name).is_file() if begun and model.exists else False


def _settings(request: TeachingRequest, start: Run, folder: Path, say: Say) -> Experiment:
    """Return the settings of the adaptation. Raises ConfigError where there is no old text."""
    files = {"data.train": LEARNED, "data.dev": HELD_OUT}
    changes = [
        f"{part}={{name: jsonl, file: {quoted(str((folder / name).absolute()))}}}" for part, name in files.items()
    ]
    languages, metric = start.experiment.data.language_pair(), _metric(start.experiment)
    changes += [f"run={quoted(str(folder / MODEL))}", f"data.languages={json.dumps(languages)}"]
    old = _old_texts(start) if request.old is None else OldTextSettings()
    values = as_values(replace(old, metric=metric, tolerance=TOLERANCE, significant=True))
    if request.old is None:
        changes += [f"data.old={json.dumps(values)}"]
    else:
        both = zip(_SIDES, request.old, strict=True)
        changes += [f"data.old.train.{side}={quoted(file)}" for side, file in both]
        changes += [f"data.old.{name}={json.dumps(values[name])}" for name in ("metric", "tolerance", "significant")]
    changes += ["data.test_fraction=0", "training.metric=loss", *request.changes]
    return read_experiment(None, changes, start=start.path, adapts=True, say=say)


def _metric(experiment: Experiment) -> str:
    """Return the metric of the standing set: that by which the first run was selected."""
    data, own = experiment.data, experiment.training.metric
    named = data.old.metric if data.old is not None and data.old.metric else own
    return experiment.task_class.spec.metric if named in ("loss", "perplexity") else named


def _old_texts(run: Run) -> OldTextSettings:
    """Return the first texts of a run: those of its own training, unless it was adapted from another one."""
    data = run.experiment.data
    old = data.old or OldTextSettings(data.train, data.dev, 0.0 if data.dev else data.dev_fraction, data.test_fraction)
    readers = {"train": old.train, "dev": old.dev}
    if missing := [part for part, choice in readers.items() if choice is not None and not is_there(choice)]:
        problem = f"the {' and '.join(missing)} texts of the run are not here, so forgetting cannot be measured"
        raise ConfigError(str(run.path), problem, "--old SOURCE TARGET")
    if old.train is None:
        raise ConfigError(
            str(run.path), "has no training texts, so forgetting cannot be measured", "--old SOURCE TARGET"
        )
    return old


def _check_languages(file: Path, parts: SplitCorrections, experiment: Experiment) -> None:
    """Raise DataError for corrections whose two sides are exchanged, beside the old texts."""
    train, _ = old_readers(experiment)
    rows = [one.texts for one in islice(train or (), _COMPARED)]
    old = [PlainText(f"the old {side} text", [str(row[side]) for row in rows]) for side in _SIDES]
    pairs = {**parts.learned, **parts.held_out}
    for lines, (own, other) in (([*pairs], old), ([*pairs.values()], old[::-1])):
        check_expected_language(PlainText(str(file), lines), own, other, fewest=FEWEST_CORRECTIONS)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _report(start: Path, taught: Path | None, parts: SplitCorrections, outcome: Mapping[str, Any]) -> Report:
    """Return the figures before and after, and what is kept; without new weights those of the validation alone."""
    names = {"new": "corrections held out", "old": "standing set"}
    rows = [_row(names[name], one["examples"], one["metric"], one["start"], one["selected"], one["difference"],
                 one["interval"]) for name, one in outcome.items() if name in names]  # fmt: skip
    values: dict[str, Any] = {**outcome, "learned": len(parts.learned), "held_out": len(parts.held_out)}
    if taught is None:
        summary = (
            "the weights stay as they were: no checkpoint gains on corrections held out and loses nothing elsewhere"
        )
        return Report([Table(_COLUMNS, rows)], values, summary)
    held, learned = parts.held_out, dict([*parts.learned.items()][-_SHOWN:])
    both = [[one.text for one in load(run).predict([*held, *learned])] for run in (start, taught)]
    test = _compared([some[: len(held)] for some in both], [*held.values()])
    rows.insert(
        1, _row(names["new"], len(held), test.a.name, test.a.value, test.b.value, test.difference, test.interval)
    )
    right = [sum(map(str.__eq__, some[len(held) :], learned.values())) for some in both]
    rows.append([Cell("corrections learned from"), Cell(f"{len(learned):,}"), Cell("answered as corrected"),
                 *(Cell(f"{count:,}") for count in (*right, right[1] - right[0])), Cell(DASH)])  # fmt: skip
    values |= {
        "chrf": {"before": test.a.value, "after": test.b.value, "interval": [*test.interval]},
        "as_corrected": right,
    }
    return Report([Table(_COLUMNS, rows)], values, "the new weights are kept")


def _compared(texts: Sequence[Sequence[str]], references: Sequence[str]) -> SignificanceTest:
    before, after = texts
    return paired_bootstrap(METRICS.build(Choice("chrf")), before, after, [[one] for one in references])


def _row(name: str, count: int, metric: str, before: float, after: float, change: float, interval: Any) -> list[Cell]:
    low, high = interval
    figures = (f"{before:.2f}", f"{after:.2f}", f"{change:+.2f}", f"{low:+.2f} to {high:+.2f}")
    return [Cell(name), Cell(f"{count:,}"), Cell(metric), *map(Cell, figures)]
