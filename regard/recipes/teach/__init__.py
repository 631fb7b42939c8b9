"""`regard teach RUN FILE`: corrections of a translator's answers → a new version of its run.

Trials first learn a part of the new corrections. The largest part of the change of their weights that does not harm old
text is tested on the other corrections: the gain may be chance. Then a training learns all corrections, and the same
part of its change is proved on the standing set.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import own_folder, read_checked, settings_file, settings_folder
from regard.config.versions import MODEL, UNPROVED, current_version, new_version, use_version, versions_held
from regard.errors import ConfigError
from regard.experiment import Experiment
from regard.predictor import load
from regard.recipes.corrections import (
    ATTEMPTED,
    FEWEST_CORRECTIONS,
    LEARNED,
    PAIR_SIDES,
    TOLERANCE,
    UNDONE,
    Corrected,
    Trial,
    corrected_texts,
    keep_pairs,
    kept_pairs,
    note_corrections,
    noted_corrections,
    seen_corrections,
    trials,
)
from regard.recipes.teach.lesson import (
    LESSON_DIGEST,
    LESSON_RULES,
    TRIALS_FILE,
    CorrectionLesson,
    TeachingRequest,
    learner,
    lesson_experiment,
    standing_set,
)
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table
from regard.runs import Run, RunFolder
from regard.runs.texts import Say, old_readers
from regard.statistical.language_checks import PlainText, check_expected_language
from regard.tasks.examples import count_of

LARGEST_P = 0.05  # highest p-value of a gain that is kept
_LEAST, _READ = 1.0, 500  # points of the standing set, below which a loss cannot be seen; examples that show it
_SHOWN = 500  # corrections that are translated by both versions
_COMPARED = 2_000  # old pairs that the languages of corrections are compared with
_COLUMNS = ("texts", "pairs", "metric", "before", "after", "difference", "95 % interval")


class TaughtCorrections(NamedTuple):
    """The result: whether weights have changed, and the figures before and after."""

    changed: bool
    version: int | None  # of the run that is in use now; None: a run of its own
    report: Report


def teach(request: TeachingRequest, say: Say, *, quiet: bool = False) -> TaughtCorrections:
    """Train on corrections, and keep the result if they gain beyond chance and the standing set loses nothing.

    Raises ConfigError for fewer than 10 new corrections, for a run whose old texts are missing, and for one that
    translates nothing yet; DataError for a file without corrections in the run's languages; Interrupted.
    """
    run = own_folder(request.run)
    version, start = current_version(run), settings_folder(request.run)
    settings_file(start)
    opened = Run.open(RunFolder(start))
    languages = _languages(opened)
    given = corrected_texts(request.file, languages, say)
    pairs = _without_undone(given, request, run, say)
    name = f"{request.file.name}{'' if len(pairs) == len(given) else ' without corrections of undone versions'}"
    seen = seen_corrections(start)
    known = noted_corrections(run, ATTEMPTED) if request.only_new else {}
    parts, everything = trials(name, pairs, seen, known), {**seen, **pairs}
    with ExitStack() as stack:
        digest = _digest(request, opened, parts)
        folder, resumed = _place(request, everything, digest, stack)
        keep_pairs(folder / LEARNED, everything)
        experiment = lesson_experiment(request, opened, folder, LEARNED, LEARNED, say)
        _check_languages(request.file, everything, experiment)
        _check_standing_set(opened, experiment)
        lesson = CorrectionLesson(request, opened, folder, experiment, digest, say)
        tested = lesson.tested(parts)
        gains = tested["part"] and tested["p_value"] <= LARGEST_P
        outcome = lesson.learned(tested, resumed=resumed) if gains else {}
        changed = outcome.get("kept") == "adapted"
        report = _report(start, folder / MODEL if changed else None, everything, tested, outcome)
        if request.output is not None:
            if not changed:
                shutil.rmtree(folder)
            return TaughtCorrections(changed, None, report)
        if changed:
            use_version(run, int(folder.name), version)
            note_corrections(run, UNDONE, {}, pairs)
        else:
            note_corrections(run, ATTEMPTED, pairs, {})
            shutil.rmtree(folder)
        report.values["version"] = current_version(run)
        return TaughtCorrections(changed, current_version(run), report)


def _without_undone(pairs: Corrected, request: TeachingRequest, run: Path, say: Say) -> Corrected:
    """Return the corrections that no undone version has learned; all of them with `again`."""
    undone = {} if request.again else noted_corrections(run, UNDONE)
    kept = {text: better for text, better in pairs.items() if undone.get(text) != better}
    if count := len(pairs) - len(kept):
        say(f"left out: {count:,} of an undone version (regard redo {request.run}, or --again, takes them back)")
    return kept


def _languages(run: Run) -> tuple[str, str]:
    """Return the codes of a translator of one language pair. Raises ConfigError for any other run."""
    experiment = run.experiment
    if experiment.task.name != "translation":
        problem = f"has task {experiment.task.name}, and corrections teach a network of task translation"
        raise ConfigError(str(run.path), problem, "regard memory add keeps corrections for every translator")
    match experiment.data.language_pair():
        case (str(source), str(target)) if not experiment.data.routes:
            return source, target
    hint = "a translator whose languages are known: data.languages=[en,de] in its training"
    raise ConfigError(str(run.path), "corrections are for a translator of one language pair", hint)


def _digest(request: TeachingRequest, start: Run, parts: Sequence[Trial]) -> str:
    """Return a digest of the start weights, the request and the trials, on which the result of these depends."""
    values = [start.weights_digest, request.old, [*request.changes], parts, LESSON_RULES]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _place(request: TeachingRequest, everything: Corrected, digest: str, stack: ExitStack) -> tuple[Path, bool]:
    """Return the folder of the result, and whether an interrupted training goes on there."""
    if request.output is None:
        run = own_folder(request.run)
        stack.enter_context(versions_held(run))
        return new_version(run), False
    folder, model = request.output, RunFolder(request.output / UNPROVED)
    begun = kept_pairs(folder / LEARNED) == everything
    if (tested := folder / TRIALS_FILE).is_file():  # another start or other settings have other trials
        begun = begun and read_checked(tested).get(LESSON_DIGEST) == digest
    if not begun or (folder / MODEL).exists():
        RunFolder(folder).check_free()
    folder.mkdir(parents=True, exist_ok=True)
    return folder, (model.path / settings_file(model.path).name).is_file() if begun and model.exists else False


def _check_languages(file: Path, everything: Corrected, experiment: Experiment) -> None:
    """Raise DataError for corrections whose two sides are exchanged, beside the old texts."""
    train, _ = old_readers(experiment)
    rows = [one.texts for one in islice(train or (), _COMPARED)]
    old = [PlainText(f"the old {side} text", [str(row[side]) for row in rows]) for side in PAIR_SIDES]
    for lines, (own, other) in (([*everything], old), ([*everything.values()], old[::-1])):
        check_expected_language(PlainText(str(file), lines), own, other, fewest=FEWEST_CORRECTIONS)


def _check_standing_set(start: Run, experiment: Experiment) -> None:
    """Raise ConfigError for a run whose standing set is missing, or translated so badly that no loss can be seen."""
    validation = standing_set(learner(start.path), experiment)
    (measure,) = validation.measures
    step = -(-count_of(validation.examples) // _READ)
    some = {column: texts[::step] for column, texts in validation.examples.items()}
    if measure.higher_is_better and (figure := measure.value(validation.on(some, measure).rows().sum(axis=0))) < _LEAST:
        problem = f"translates its dev set with {measure.name} {figure:.1f}: it has nothing yet that could be lost"
        hint = f"train it longer first: regard train {start.path} --resume; or compare its loss: data.old.metric=loss"
        raise ConfigError(str(start.path), problem, hint)


def _report(
    start: Path, taught: Path | None, everything: Corrected, tested: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Report:
    """Return the figures before and after, and what is kept."""
    rows = [_row("corrections tested", tested)]
    values: dict[str, Any] = {"kept": "start" if taught is None else "adapted", "learned": 0, "new": {**tested}}
    if "old" in outcome:
        rows.append(_row("standing set", outcome["old"]))
        values["old"] = outcome["old"]
    chance = f"p = {tested['p_value']:.2g}"
    if taught is None:
        problem = f"the corrections tested gain no more than by chance ({chance})"
        if not tested["part"]:
            problem = "old text loses by any part of the change"
        if "old" in outcome:
            loss = outcome["old"]["start"] - outcome["old"]["selected"]
            problem = f"the corrections tested gain ({chance}), but the standing set loses {loss:.2f}"
            problem += f"; {TOLERANCE} is allowed, within chance"
        return Report([Table(_COLUMNS, rows)], values, f"the weights stay as they were: {problem}")
    learned = dict([*everything.items()][-_SHOWN:])
    both = [[one.text for one in load(run).predict([*learned])] for run in (start, taught)]
    right = [sum(map(str.__eq__, some, learned.values())) for some in both]
    rows.append([Cell("corrections learned"), Cell(f"{len(learned):,}"), Cell("answered as corrected"),
                 *(Cell(f"{count:,}") for count in (*right, right[1] - right[0])), Cell(DASH)])  # fmt: skip
    values |= {"learned": len(everything), "as_corrected": right}
    line = f"{tested['part']:.0%} of the change is kept; gain of the corrections tested: {chance}"
    if right[1] < len(learned):
        line += (
            f"\n{right[1]:,} of {len(learned):,} corrected sentences are translated exactly as corrected: the lesson"
            " makes the corrections likelier. A translation memory gives them at once (regard memory add)."
        )
    return Report([Table(_COLUMNS, rows)], values, line)


def _row(name: str, one: Mapping[str, Any]) -> list[Cell]:
    low, high = one["interval"]
    figures = [f"{one[name]:{sign}.2f}" for name, sign in (("start", ""), ("selected", ""), ("difference", "+"))]
    figures.append(f"{low:+.2f} to {high:+.2f}")
    return [Cell(name), Cell(f"{one['examples']:,}"), Cell(one["metric"]), *map(Cell, figures)]


__all__ = ["TaughtCorrections", "TeachingRequest", "teach"]
