"""`regard best`: the best translator that texts and minutes allow, step by step, each kept only where it gains."""

import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any, NamedTuple

from regard.config import SETTINGS_FILE, read_checked, staged, write_atomically, write_checked
from regard.data.manifest import MANIFEST, noted_files
from regard.data.readers.lines import digest
from regard.errors import CheckpointError, ConfigError, DataError, RegardError, TrainingError
from regard.experiment import Experiment, count_examples
from regard.experiment.complete_settings import learnt_examples
from regard.recipes.best.networks import hopeless_network
from regard.recipes.best.page import best_page, best_report, step_outcome, without_networks
from regard.recipes.best.pairs import BestTexts, dev_size, made_texts, make_texts
from regard.recipes.best.phrases import MEASURED_PAIRS, PATIENCE, PhraseTimes, measured_times, times_of
from regard.recipes.best.step import NO_TIME, BestStep, NoGainError, StepResult
from regard.recipes.best.steps import BEST_STEPS
from regard.recipes.best.workshop import Workshop, copied_run
from regard.recipes.spent_time import SpentTime
from regard.reports.forecast.forecast import forecast
from regard.reports.report import Report
from regard.runs import Run, RunFolder
from regard.runs.folder import TUNING
from regard.runs.texts import Say, part_reader

STATE, REPORTS = "best.json", ("report.md", "report.html")
BEST_MINUTES = 10  # enough with any number of pairs
_FORECAST_MINUTES = 10.0  # below which half a minute is too much
_LEAST_SECONDS = 5.0  # in which a step can do anything
_NETWORK_SECONDS = 60.0 * BEST_MINUTES  # in which a network learns something, where pairs are too many for phrases


class BestRequest(NamedTuple):
    """Texts, folder and minutes of a search."""

    pairs: Sequence[Path]  # two text files, or one file of pairs
    folder: Path
    minutes: float  # on the wall, over all calls
    dev: Sequence[Path] = ()
    more: Mapping[str, Path] = MappingProxyType({})  # further text of one language, by column
    start: Path | None = None  # run that networks begin with
    changes: Sequence[str] = ()  # settings of the networks
    command: str = ""

    def origin(self) -> dict[str, Any]:
        """Return what a call must have in common with the one that it goes on with."""
        files = {"pairs": self.pairs, "dev": self.dev, **{f"{side} text": [file] for side, file in self.more.items()}}
        found = {name: [digest(file).hex() for file in some] for name, some in files.items()}
        return {**found, "from": str(self.start or ""), "changes": [*self.changes]}


def best_translator(request: BestRequest, *, say: Say = lambda line: None, quiet: bool = True) -> Report:
    """Make the best translator of texts in the minutes, as the run `request.folder`; report what each step gave.

    The same call goes on with what was cut off; with more minutes, also with steps that had no time. Raises RegardError
    for texts that do not fit, for too few minutes, and for a folder of another search; Interrupted where training was
    asked to end.
    """
    _State.of(request)  # a folder of something else gets no lock
    with RunFolder(request.folder).begun():
        state = _State.of(request)
        texts = _texts(request, state, say)
        report = _searched(request, state, texts, say, quiet)
    return report


def _searched(request: BestRequest, state: "_State", texts: BestTexts, say: Say, quiet: bool) -> Report:
    """Try the steps that have time, and write the report."""
    with state.counting():
        work = Workshop(
            request.folder.absolute(), texts,
            changes=request.changes, start=request.start, results=state.results,
            seconds=request.minutes * 60 - state.seconds, say=say, quiet=quiet,
        )  # fmt: skip
        if not work.results:
            _check_minutes(request.minutes * 60 - state.seconds, texts)
        if not state.forecast and request.minutes >= _FORECAST_MINUTES:
            state.forecast = _forecast(texts, request.minutes, say)
        _try(work, state, request.minutes * 60, say)
    left_out = state.left_out
    if not work.results:
        raise RegardError(f"{request.folder}: no step made a translator: phrases {left_out['phrases']}")
    report = best_report(request.folder, work.results, left_out, state.forecast)
    minutes = f"{state.seconds / 60:.1f} of {request.minutes:g} minutes"
    title = f"# The best translator of {' and '.join(file.name for file in request.pairs)}, {minutes}"
    write_atomically(request.folder / REPORTS[0], f"{title}\n\n`{request.command}`\n\n{report.text(terminal=False)}")
    write_atomically(request.folder / REPORTS[1], best_page(report, title.removeprefix("# ")))
    return report


class _State:
    """State of a search, as its folder holds it."""

    def __init__(self, file: Path, origin: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
        self.file, self.origin = file, origin
        self.results = [StepResult(**one) for one in saved.get("results", ())]
        self.left_out: dict[str, str] = dict(saved.get("left_out", {}))  # steps without a result → why
        self.forecast = [str(line) for line in saved.get("forecast", ())]  # lines of the page
        self.spent = SpentTime(file.with_name("seconds.json"), counts=True)

    @classmethod
    def of(cls, request: BestRequest) -> "_State":
        """Read that of a folder, or begin. Raises ConfigError for a folder of something else."""
        file, origin = request.folder / STATE, request.origin()
        try:
            saved = read_checked(file)
        except FileNotFoundError:
            if RunFolder(request.folder).exists:
                hint = "choose another folder: --run FOLDER"
                raise ConfigError("--run", f"'{request.folder}' exists and was not made by regard best", hint) from None
            saved = {"origin": origin}
        except ValueError as error:
            raise CheckpointError(file, f"cannot be read: {error}", "choose another --run FOLDER") from error
        if saved["origin"] != origin:
            names = ", ".join(name for name in origin if saved["origin"].get(name) != origin[name])
            problem = f"'{request.folder}' was begun with other values of: {names}"
            raise ConfigError("--run", problem, "choose another folder: --run FOLDER")
        return cls(file, origin, saved)

    @property
    def seconds(self) -> float:
        """Seconds of all calls so far."""
        return self.spent.seconds

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Keep the results and their time, however it ends."""
        try:
            with self.spent.counting():
                yield
        finally:
            self.save()

    def save(self) -> None:
        """Write the state."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        results = [one._asdict() for one in self.results]
        values = {"results": results, "left_out": self.left_out, "forecast": self.forecast}
        write_checked(self.file, {"origin": self.origin, **values})


def _texts(request: BestRequest, state: _State, say: Say) -> BestTexts:
    """The texts as an earlier call wrote them, or written now, all or none."""
    place = request.folder / "texts"
    if not place.is_dir():
        new = staged(request.folder.absolute() / "texts")  # in the folder, which may be another disk than where it is
        try:
            make_texts(new, request.pairs, request.dev, request.more, say)
            state.save()  # before the texts, so that a folder with texts is always known as that of a search
            new.rename(place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return made_texts(place.absolute(), request.pairs)


def phrase_minutes(experiment: Experiment) -> int:
    """Return the least minutes in which a search on the training pairs of an experiment has time for phrases."""
    count = count_examples(experiment)
    reader = part_reader(experiment, "dev")
    dev = dev_size(count) if reader is None else sum(1 for _ in reader)
    examples = islice(
        learnt_examples(experiment), 0, None, max(1, count // MEASURED_PAIRS)
    )  # files may begin with short lines
    sample = [(str(one.texts["source"]), str(one.texts["target"])) for one in islice(examples, MEASURED_PAIRS)]
    sources = [source for source, _ in sample]
    return _least_minutes(times_of(sample, count, [*islice(cycle(sources), max(1, dev))]))


def _least_minutes(times: PhraseTimes) -> int:
    """Return the least minutes in which phrases have time beside the other steps."""
    return max(1, math.ceil((times.fit + times.dev) / 60 / _phrases_share()))


def _phrases_share() -> float:
    """Return the share of the time that phrases may take."""
    steps = BEST_STEPS.values()
    return min(1.0, PATIENCE * BEST_STEPS["phrases"].fraction / sum(one.fraction for one in steps if one.text is None))


def _check_minutes(seconds: float, texts: BestTexts) -> None:
    """Raise ConfigError where the time suffices neither for phrases nor for a network."""
    times = measured_times(texts)
    needed = times.fit + times.dev
    if needed > seconds and seconds < _NETWORK_SECONDS:
        least, left = _least_minutes(times), f"{max(0.0, seconds) / 60:.1f} are left"
        problem = f"{left}, and phrases alone take about {needed / 60:.1f}, by a measurement of {MEASURED_PAIRS} pairs"
        network = f"; {BEST_MINUTES} suffice for a network without phrases" if least > BEST_MINUTES else ""
        hint = f"--minutes {least} or more: phrases may take {_phrases_share():.0%} of the time{network}"
        raise ConfigError("--minutes", problem, hint)


def _forecast(texts: BestTexts, minutes: float, say: Say) -> list[str]:
    """Lines on what phrases and a network would reach by themselves, and what more pairs would bring."""
    say("forecasting what the pairs allow (regard forecast)")
    train, dev = ([part[side] for side in ("source", "target")] for part in (texts.train, texts.dev))
    try:
        found = forecast(train, minutes, dev=dev)
    except RegardError as error:
        return [f"forecast: none, {error}"]
    road = found.best
    low, high = (f"{end:.1f}" for end in (road.bleu.low, road.bleu.high))
    more = ", ".join(f"{pairs:,} more {band.middle - road.bleu.middle:+.1f}" for pairs, band in road.more.items())
    return [
        f"forecast, without further text: {road.name} {road.bleu.middle:.1f} dev BLEU (80 %: {low} to {high})",
        f"more pairs: {more} BLEU (forecast)",
    ]


def _hopeless(work: Workshop, steps: Mapping[str, BestStep], seconds: float) -> str:
    """Return why a network would stay far below phrases in its share of the time of these steps; "": it may not."""
    if "network" not in steps or "phrases" not in BEST_STEPS:
        return ""
    return hopeless_network(work, seconds * steps["network"].fraction / sum(one.fraction for one in steps.values()))


def _try(work: Workshop, state: _State, seconds: float, say: Say) -> None:
    """Try the steps that have no result yet, and keep why others are left out.

    A step that has no time in this call keeps the reason of the call that tried it. Networks that would stay far below
    phrases in their time leave it to the other steps.
    """
    left_out, known = state.left_out, {one.step for one in work.results}
    steps = {name: step for name, step in BEST_STEPS.items() if name not in known}
    left_out |= {name: f"no --text-{step.text} was given" for name, step in steps.items() if not _has_text(step, work)}
    steps = {name: step for name, step in steps.items() if _has_text(step, work)}
    hopeless = _hopeless(work, steps, seconds - state.seconds)
    if hopeless:
        say(without_networks(hopeless))
    for name, step in [*steps.items()]:
        if step.family == "network" and not work.results:
            hopeless = ""  # phrases did not make a translator
        if hopeless and name == "network":  # phrases may have left more time than was planned
            hopeless = _hopeless(work, steps, seconds - state.seconds)
        del steps[name]
        later = sum(one.fraction for one in steps.values() if not hopeless or one.family == "phrases")
        if hopeless and step.family == "network":
            left_out[name] = hopeless
            continue
        left = seconds - state.seconds
        mine = left * step.fraction / (step.fraction + later)
        if mine < _LEAST_SECONDS and work.results:
            left_out.setdefault(name, NO_TIME)
            continue
        state.save()
        say(f"{name} (about {mine / 60:.1f} of the {left / 60:.1f} minutes left): {step.about}")
        start = time.monotonic()
        try:
            note = step.make(name, work, mine)
            found = work.evaluated(name, step, time.monotonic() - start, note)
        except (NoGainError, DataError, CheckpointError, TrainingError) as error:  # the others may still do
            left_out[name] = str(error) if isinstance(error, NoGainError) else f"failed: {error}"
            say(f"{name}: {left_out[name]}")
            continue
        if found.leads:
            _publish(work, name)
        left_out.pop(name, None)
        state.results = work.results
        state.save()
        say(_outcome(found))


def _has_text(step: BestStep, work: Workshop) -> bool:
    return step.text is None or step.text in work.texts.more


def _outcome(one: StepResult) -> str:
    """Return the result of a step, in a line."""
    compared = f", {one.difference:+.2f} against {one.rival} (p = {one.p_value:.3f})" if one.rival else ""
    return f"{one.step}: dev BLEU {one.bleu:.2f}{compared}: {step_outcome(one)}"


def _publish(work: Workshop, name: str) -> None:
    """Make the folder itself the run of a step, in place of that of an earlier one."""
    folder, new = work.folder, work.folder / ".result"
    copied_run(work.run(name), new, Run.open(work.run(name)).experiment.decoding, seen_from=folder)
    before = {file.partition("/")[0] for file in noted_files(folder)} | {MANIFEST, TUNING}
    (folder / SETTINGS_FILE).unlink(missing_ok=True)  # no run until all is in place
    for old in before | {entry.name for entry in new.iterdir()}:  # all else in the folder is not ours
        shutil.rmtree(folder / old) if (folder / old).is_dir() else (folder / old).unlink(missing_ok=True)
    for entry in sorted(new.iterdir(), key=lambda one: one.name == SETTINGS_FILE):
        entry.rename(folder / entry.name)
    new.rmdir()


PHRASES_LEAD = (1_000, 10_000)  # numbers of pairs between which phrases were better: translation-techniques.md


def phrases_advice(experiment: Experiment) -> str:
    """Return a line on the gain of phrases and a network together, with the command; "" where none is known."""
    if experiment.task.name != "translation" or experiment.init is not None or experiment.data.routes:
        return ""
    pairs = sum(1 for _ in islice(learnt_examples(experiment), PHRASES_LEAD[1] + 1))
    if not PHRASES_LEAD[0] <= pairs <= PHRASES_LEAD[1]:
        return ""
    why = "phrases and a network together make a better translator (docs/how-to/few-pairs.md)"
    return f"of {pairs:,} pairs {why}: {advised_command(experiment)}"


def advised_command(experiment: Experiment) -> str:
    """Return the command that trains the best translator on the same texts.

    Its minutes are those of the training, and at least the measured minutes in which phrases have time.
    """
    words = ["regard best"]
    for part, option in (("train", ""), ("dev", "dev-")):
        choice = experiment.reader(part)
        files = {} if choice is None else choice.settings.get("files")
        if files:
            words += [f"--{option}{column} {_shown(file)}" for column, file in files.items()]
        elif choice is not None and part == "train" and "file" in choice.settings:
            words.append(_shown(choice.settings["file"]))
    minutes = 60 if experiment.training.max_minutes is None else round(experiment.training.max_minutes)
    return " ".join([*words, f"--minutes {max(BEST_MINUTES, phrase_minutes(experiment), minutes)}"])


def _shown(file: str) -> str:
    """Return a located file for a command: from the working directory, where that is shorter."""
    return quote(min(os.path.relpath(file), str(file), key=len))
