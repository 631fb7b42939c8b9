"""Shared work of the steps of `regard best`: texts, candidates, time, translation, training, evaluation."""

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch

from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, RegardError
from regard.evaluation import METRICS
from regard.evaluation.metric import Statistics, corpus_of
from regard.evaluation.significance import compare_statistics
from regard.experiment import SETTINGS_FILE, DecodingSettings, Experiment, read_experiment
from regard.predictor import load
from regard.recipes.back_translation import BACK_TAG
from regard.recipes.best.pairs import BestTexts, write_lines
from regard.recipes.best.step import NO_TIME, SURE_GAIN, BestStep, Family, NoGainError, StepResult, step_folder_of
from regard.registry import Choice
from regard.reports.compare.train import Child
from regard.results import Prediction
from regard.runs import Run, RunFolder, train_run
from regard.runs.folder import link_or_copy
from regard.runs.texts import Say
from regard.training.interrupt import Interrupted, listening_to_signals

CHUNK = 64  # lines that are translated until the clock is read again
REPORT_SECONDS = 15.0  # between lines of progress
_WATCH_SECONDS = 0.2  # between two questions to a process whether it has ended
_SAVE_SECONDS = 300.0  # that a training may take to end at its next update, validation included, and to save
_LATE, _LATE_SECONDS = 0.2, 60.0  # of its time: how much later a second network may end than the first, and the least
_COMPARED = 200  # dev lines by which a run to start from is compared with phrases
_NOT_COPIED = ("data", ".lock")  # of a run: what only a training that goes on needs


class Workshop:
    """The state of one search: what was found so far stands in `results`, everything else in files of `folder`."""

    def __init__(
        self,
        folder: Path,
        texts: BestTexts,
        *,
        changes: Sequence[str] = (),
        start: Path | None = None,
        results: Sequence[StepResult] = (),
        seconds: float = math.inf,
        say: Say = lambda line: None,
        quiet: bool = True,
    ) -> None:
        """`changes` are settings of every network, `start` the run that they begin with, `seconds` the time left."""
        self.folder, self.texts, self.changes, self.start = folder, texts, [*changes], start
        self.results, self.say, self.quiet = [*results], say, quiet
        self._end = time.monotonic() + seconds
        self.metric = METRICS.build(Choice("bleu"))
        self.sources, self.references = ([*read_lines(texts.dev[side])] for side in ("source", "target"))

    @property
    def seconds_left(self) -> float:
        """Seconds until the end of the search."""
        return self._end - time.monotonic()

    # Candidates

    def run(self, name: str) -> Path:
        """Return the run folder of a step."""
        return step_folder_of(self.folder, name)

    def best(self, family: Family | None = None) -> StepResult | None:
        """Return the best of all so far, or the last of a family that gained; None where there is none."""
        found = [one for one in self.results if (one.leads if family is None else one.kept and one.family == family)]
        return found[-1] if found else None

    def best_run(self, family: Family | None = None) -> Path | None:
        """Return the run folder of `best`."""
        found = self.best(family)
        return None if found is None else self.run(found.step)

    def needed(self, family: Family | None = None) -> Path:
        """Return the run folder of `best`. Raises NoGainError where there is none."""
        found = self.best_run(family)
        if found is None:
            raise NoGainError(f"there is no {family or 'translator'} to begin with")
        return found

    def is_joined(self, run: Path) -> bool:
        """Return whether several models answer in a run."""
        return bool(Run.open(run).experiment.decoding.other_runs)

    def rankings(self, run: Path) -> list[str]:
        """Return which settings of decoding rank the translations of a run."""
        decoding = Run.open(run).experiment.decoding
        return [name for name in ("rerank", "consensus") if getattr(decoding, name) is not None]

    def is_better(self, run: Path, other: Path) -> bool:
        """Return whether a run has a higher BLEU than another on the first lines of the dev set.

        One that cannot translate them, such as a language model, is worse.
        """
        return self._first_bleu(run) > self._first_bleu(other)

    def _first_bleu(self, run: Path) -> float:
        try:
            found = as_lines(load(run).predict(self.sources[:_COMPARED], safeguards=False))
        except RegardError:
            return -1.0
        return self.metric.value(self.metric.statistics(corpus_of(found, self.references[:_COMPARED])).sum(axis=0))

    def evaluated(self, name: str, step: BestStep, seconds: float, note: str) -> StepResult:
        """Translate the dev set by a step's candidate, compare it with those so far, and keep the result.

        The first of the phrases, and of the networks, stays without a gain: later steps begin with it.
        """
        start = time.monotonic()
        self._translation(name).unlink(missing_ok=True)  # of a candidate before a process was killed
        mine, best, relative = self._statistics(name), self.best(), self.best(step.family)
        seconds += time.monotonic() - start
        first = relative is None and step.family != "combination"
        rival = relative if relative is not None and step.family != "combination" else best
        if rival is None or best is None:
            bleu = self.metric.value(mine.sum(axis=0))
            result = StepResult(name, step.family, seconds, bleu, "", 0.0, 1.0, True, True, note)
        else:
            near, far = (
                compare_statistics(self.metric, self._statistics(one.step), mine, self._signature)
                for one in (rival, best)
            )
            kept, leads = (one.difference > 0 and one.p_value < SURE_GAIN for one in (near, far))
            figures = near.b.value, rival.step, near.difference, near.p_value
            result = StepResult(name, step.family, seconds, *figures, kept or first, leads, note)
        self.results.append(result)
        return result

    def _translation(self, name: str) -> Path:
        """Where the translation of the dev set by a candidate stands."""
        return self.folder / "dev" / f"{name}.txt"

    def _statistics(self, name: str) -> Statistics:
        """(sentence, statistic) of the dev set, translated once by a candidate."""
        file = self._translation(name)
        found = [*read_lines(file)] if file.is_file() else []
        if len(found) != len(self.sources):
            found = as_lines(load(self.run(name)).predict(self.sources, safeguards=False))
            write_lines(file, found)
        return self.metric.statistics(corpus_of(found, self.references))

    @property
    def _signature(self) -> str:
        return self.metric.signature(corpus_of(self.references, self.references))

    # Work

    def train(
        self,
        name: str,
        settings: Sequence[str],
        start: Path | None = None,
        more: Callable[[Experiment], Sequence[str]] = lambda experiment: (),
        twin: str = "",
    ) -> Path:
        """Train the run of a step, or go on with it; a finished one is left as it is.

        `more` returns settings, of the complete ones, by which defaults do not change, such as synthetic corpora: sizes
        follow the pairs. `twin` is the step of a second network, which is trained beside it with the next seed.
        Raises Interrupted, and NoGainError for a time in which no network can learn.
        """
        folder, beside = RunFolder(self.run(name)), twin and RunFolder(self.run(twin))
        if folder.finished and (not beside or beside.finished):
            return folder.path
        experiment, begun = self._planned(name, settings, start, more)
        with self._beside(beside, experiment) if beside and not beside.finished else nullcontext():
            if not folder.finished and not train_run(experiment, resume=begun, quiet=self.quiet, hints=False):
                raise Interrupted(f"stopped while {name} was trained")
        return folder.path

    @contextmanager
    def _beside(self, folder: RunFolder, experiment: Experiment) -> Iterator[None]:
        """Train the same network with the next seed meanwhile, in a process of its own; at the end, wait for it.

        It saves and ends with what is inside where that fails or is interrupted, and where it is late.
        """
        begun, training = (folder.path / SETTINGS_FILE).is_file(), experiment.training
        seeded = replace(experiment, run=folder.path, training=replace(training, seed=training.seed + 1))
        threads = training.threads if isinstance(training.threads, int) else torch.get_num_threads()
        child = Child(Run.open(folder).experiment if begun else seeded, resume=begun, threads=threads)
        try:
            yield
            late = math.inf if training.max_minutes is None else max(_LATE_SECONDS, _LATE * 60 * training.max_minutes)
            self._wait(child, f"{folder.path.name} was trained", min(late, self.seconds_left))
            if child.code:
                self.say(f"{folder.path.name}: {(child.messages() or [f'exit code {child.code}'])[-1]}")
        finally:
            child.ask_to_end()
            try:
                self._wait(child, "a training was saved", _SAVE_SECONDS)
            finally:
                child.end()

    def _wait(self, child: Child, what: str, seconds: float = math.inf) -> None:
        """Wait until a training has ended, or for a time. Raises Interrupted."""
        end = time.monotonic() + seconds
        with listening_to_signals() as interrupted:
            while child.code is None and time.monotonic() < end:
                if interrupted():
                    raise Interrupted(f"stopped while {what}")
                time.sleep(_WATCH_SECONDS)

    def _planned(
        self,
        name: str,
        settings: Sequence[str],
        start: Path | None,
        more: Callable[[Experiment], Sequence[str]],
    ) -> tuple[Experiment, bool]:
        """The settings of a step's training, and whether it has begun, with these. Raises as `train` does."""
        folder = self.run(name)
        if (folder / SETTINGS_FILE).is_file():
            return Run.open(folder).experiment, True
        try:
            experiment = read_experiment(None, [*settings, f"run={json.dumps(str(folder))}"], start=start, say=self.say)
            added = [*more(experiment)]
            if start is None and "target" in self.texts.more and experiment.text.tokenizer.name == "subwords":
                reserved = dict.fromkeys((*experiment.text.tokenizer.settings["reserved"], BACK_TAG))
                added.append(f"text.tokenizer.reserved={json.dumps([*reserved])}")  # later networks share pieces
            if added:
                complete = self.folder / "texts" / f"{name}.yaml"
                experiment.save(complete)
                experiment = read_experiment(complete, added)
        except ConfigError as error:
            if of_time(error):
                raise NoGainError(f"{NO_TIME}: {error.faults[0].problem}") from error
            raise
        return experiment, False

    def synthetic(
        self, name: str, run: Path, lines: Path, written: str, seconds: float, changes: Sequence[str] = ()
    ) -> dict[str, Path]:
        """Return the files, by column, of lines and their translations by a run; `written` is the column of these.

        As many lines as the seconds allow; a later call finds the files made. Empty translations and copies of their
        line are left out. Raises NoGainError where none is left.
        """
        files = self.synthetic_files(name)
        if not all(file.is_file() for file in files.values()):
            drafts = self.translated(name, run, lines, seconds, changes)
            both = zip(read_lines(lines), drafts, strict=False)  # the time may have ended before the lines
            pairs = [(one, draft) for one, draft in both if draft and draft != one]
            if not pairs:
                raise NoGainError("not one line was translated in its time")
            read = "source" if written == "target" else "target"
            for side, texts in zip((read, written), zip(*pairs, strict=True), strict=True):
                write_lines(files[side], texts)
        return files

    def synthetic_files(self, name: str) -> dict[str, Path]:
        """Return where the files of `synthetic` are, or will be."""
        return {side: self.folder / "texts" / f"{name}.{side}" for side in ("source", "target")}

    def corpora(self) -> dict[str, dict[str, Path]]:
        """Return the texts that steps have made and that gained, by the name of their step."""
        made = {
            one.step: self.synthetic_files(one.step) for one in self.results if one.kept and one.family == "network"
        }
        return {name: files for name, files in made.items() if files["source"].is_file()}

    def translated(self, name: str, run: Path, lines: Path, seconds: float, changes: Sequence[str] = ()) -> list[str]:
        """Return translations of the first lines of a file, as many as the seconds allow; a later call goes on."""
        out = self.folder / "texts" / f"{name}.draft"
        out.parent.mkdir(parents=True, exist_ok=True)
        whole = out.read_bytes() if out.is_file() else b""
        whole = whole[: whole.rfind(b"\n") + 1]  # half a line is of a process that was killed
        done, predictor, start = whole.count(b"\n"), load(run, changes), time.monotonic()
        rest, reported = islice(read_lines(lines), done, None), start
        with out.open("r+b" if out.is_file() else "wb") as file:
            file.truncate(len(whole))
            file.seek(len(whole))
            while time.monotonic() - start < seconds and (chunk := [*islice(rest, CHUNK)]):
                texts = as_lines(predictor.predict(chunk, safeguards=False))
                file.write("".join(f"{text}\n" for text in texts).encode())
                file.flush()
                done += len(chunk)
                if time.monotonic() - reported > REPORT_SECONDS:
                    reported = time.monotonic()
                    self.say(f"{done:,} lines translated, at most {max(0.0, seconds - reported + start):.0f} s left")
        return [*read_lines(out)]


def of_time(error: ConfigError) -> bool:
    """Return whether a training is refused for its time alone."""
    return all(fault.place == "training.max_minutes" for fault in error.faults)


def as_lines(predictions: Iterable[Prediction]) -> list[str]:
    """Return their texts, each on one line."""
    return [" ".join(one.text.split()) for one in predictions]


def copied_run(run: Path, out: Path, decoding: DecodingSettings, *, seen_from: Path | None = None) -> None:
    """Make a run folder with the model of another one and settings of decoding of its own.

    Runs that these name are noted by their place relative to it, or to `seen_from`, where it will be in the end, so
    that all can be moved together. Files are links
    where the disk has links; those of a run never change in place.
    """
    new = out.with_name(f".{out.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(run, new, copy_function=link_or_copy, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    (new / SETTINGS_FILE).unlink()
    experiment = Run.open(run).experiment
    data = replace(experiment.data, cache=None)
    experiment = replace(experiment, run=None, data=data, decoding=_relative(decoding, seen_from or out))
    experiment.save(new / SETTINGS_FILE)
    RunFolder(new).seal()
    if out.exists():
        shutil.rmtree(out)
    new.rename(out)


def _relative(decoding: DecodingSettings, folder: Path) -> DecodingSettings:
    """The same settings with other runs named from a folder that is in the same search."""

    def seen(run: Path) -> Path:
        return Path(os.path.relpath(run.resolve(), folder.resolve()))

    rerank = decoding.rerank and replace(decoding.rerank, run=seen(decoding.rerank.run))
    consensus = decoding.consensus and replace(decoding.consensus, runs=tuple(map(seen, decoding.consensus.runs)))
    ensemble = tuple(map(seen, decoding.ensemble))
    return replace(decoding, rerank=rerank, ensemble=ensemble, consensus=consensus, tuned=False)
