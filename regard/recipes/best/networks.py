"""Steps of `regard best` that train a network: on pairs, and on what other translators write."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import torch

from regard.config import parse_changes
from regard.data.readers import READERS
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError
from regard.experiment import SETTINGS_FILE, Experiment, plan_experiment
from regard.experiment.data import CORPORA
from regard.experiment.huggingface import is_huggingface
from regard.experiment.sizes import COPIES, FEW_PAIRS, MANY_PAIRS, SENTENCE_PIECES
from regard.experiment.time_plan import means_cpu
from regard.recipes.back_translation import BACK_TAG
from regard.recipes.best.pairs import write_lines
from regard.recipes.best.phrases import back_translated, kept_back_translations
from regard.recipes.best.step import NO_TIME, BestStep, Family, NoGainError
from regard.recipes.best.workshop import Workshop, of_time
from regard.reports.forecast.coefficients import hopeless_plan
from regard.runs import Run, RunFolder
from regard.statistical.recombination import recombined_pairs
from regard.training.settings import LIMITS

_ORIGINALS = 0.4  # least share of pairs of the user among the batches that are not of recombined pairs
_RECOMBINED = 0.35  # share of the batches that are recombined pairs, beside those of a teacher
_WRITING = 0.35  # share of a step's time in which a teacher writes
_TAUGHT, _MOST_SOURCES = 0.2, 30_000  # the same for recombined sources, and how many at most
_TWIN_EPOCHS = 25.0  # of 29,000 pairs: after 17 a second network and as many more updates were equal
_QUICK = 10  # candidates of a teacher that ranks them
Corpora = Mapping[str, Mapping[str, Path]]  # name → column → file


def train_network(name: str, work: Workshop, seconds: float, corpora: Corpora | None = None, twin: str = "") -> None:
    """Train on the pairs and further corpora, from the best network so far on.

    With a `twin`, the step of a second network, each has half of the threads.
    Phrases are recombined as the user's settings say, else as in the run that networks begin with, else beside
    synthetic text of few pairs.
    """
    made, data = {**work.corpora(), **(corpora or {})}, parse_changes(work.changes).get("data", {})
    settings = [*work.texts.data(), f"training.max_minutes={seconds / 60:.3f}"]
    if twin:
        settings.append(f"training.threads={torch.get_num_threads() // 2}")
    if work.start is not None:
        settings.append(f"data.recombination={json.dumps(_recombination_of(work.start))}")
    free = work.start is None and "recombination" not in data

    def mixed(experiment: Experiment) -> list[str]:
        return _with_corpora(experiment, made, recombined=free) if made else []

    work.train(name, [*settings, *work.changes], work.best_run("network") or work.start, mixed, twin)


def _with_corpora(experiment: Experiment, made: Corpora, *, recombined: bool) -> list[str]:
    """Return changes that add synthetic corpora by size; corpora and weights of the user keep their ratios.

    All that is the user's has a share of _ORIGINALS at least.
    """
    data, columns = experiment.data, tuple(experiment.columns)
    sizes = {
        name: sum(1 for _ in READERS.build(data.readers()[part], columns, place=f"data.{part}"))
        for name, part in {"train": "train", **{name: f"{CORPORA}{name}" for name in data.corpora}}.items()
    }
    own = dict(data.weights) or sizes
    counts = {name: count_lines(files["source"]) * own["train"] / sizes["train"] for name, files in made.items()}
    least = sum(counts.values()) * _ORIGINALS / (1 - _ORIGINALS)
    factor = max(1.0, least / sum(own.values()))
    weights = {name: round(factor * weight, 6) for name, weight in own.items()} | counts
    files = {one: {side: str(path) for side, path in sides.items()} for one, sides in made.items()}
    added = [f"data.corpora={json.dumps(files)}", f"data.weights={json.dumps(weights)}"]
    if recombined and sizes["train"] in FEW_PAIRS:
        added.append(f"data.recombination={{copies: {COPIES}, fraction: {_RECOMBINED}}}")
    return added


def _recombination_of(start: Path) -> Mapping[str, Any] | None:
    """Return the settings of recombined pairs of a run to start from; None for none."""
    found = None if is_huggingface(start) else Run.open(start).experiment.data.recombination
    return None if found is None else asdict(found)


def hopeless_network(work: Workshop, seconds: float) -> str:
    """Return why a network from scratch would stay far below phrases in `seconds`; "" where it may come near.

    Nothing is forecast of a network that has begun, of a run to start from, and of limits of the user.
    """
    given = parse_changes(work.changes).get("training", {})
    begun = work.start is not None or (work.run("network") / SETTINGS_FILE).is_file()
    if begun or not isinstance(given, Mapping) or not given.keys().isdisjoint(LIMITS):
        return ""
    minutes = f"training.max_minutes={seconds / 60:.3f}"
    try:
        planned = plan_experiment(None, [*work.texts.data(), minutes, *work.changes], say=lambda line: None)
    except ConfigError as error:
        return f"{NO_TIME}: {error.faults[0].problem}" if of_time(error) else ""
    found = hopeless_plan(*planned)
    return f"{NO_TIME}: {found}" if found else ""


def taught(name: str, work: Workshop, seconds: float, teacher: Path, lines: Path) -> str:
    """Have a teacher translate lines, and a network learn them beside the pairs; return how many there are."""
    quick = [f"decoding.{ranking}.n_best={_QUICK}" for ranking in work.rankings(teacher)]
    files = work.synthetic(name, teacher, lines, "target", _WRITING * seconds, quick)
    train_network(name, work, (1 - _WRITING) * seconds, {name: files})
    return f"{count_lines(files['source']):,} lines translated by {teacher.name}"


class Network(BestStep):
    """A network of the size that the pairs and the time allow.

    Few pairs are joined by sources of recombined pairs, as phrases translate them: sequence-level distillation
    (https://aclanthology.org/D16-1139) from a teacher that is better than a network of these pairs alone.
    """

    about = "trained on the pairs, and on what phrases translate where these are few"
    family: ClassVar[Family] = "network"
    fraction = 0.6  # one long training: of short ones none has gained on phrases

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        start, notes = time.monotonic(), [] if work.start is None else [f"began with {work.start}"]
        teacher, corpora = work.best_run("phrases"), None
        if teacher is not None and work.start is not None and not work.is_better(teacher, work.start):
            teacher = None
            notes.append("phrases do not teach: they are not better on the dev text")
        lines = None if teacher is None else _recombined_sources(name, work)
        if teacher is not None and lines is not None:
            corpora = {name: work.synthetic(name, teacher, lines, "target", _TAUGHT * seconds)}
            notes.append(f"{count_lines(corpora[name]['source']):,} recombined sources translated by {teacher.name}")
        left = max(0.0, seconds - time.monotonic() + start)
        train_network(name, work, left, corpora, TWIN_STEP if _has_twin(work, left) else "")
        return ", ".join(notes)


TWIN_STEP = "twin"


def _without_twin(work: Workshop) -> str:
    """Return why no second network can be trained beside the first; "" where one can."""
    given = parse_changes(work.changes)
    training = given.get("training")
    if work.start is not None:
        return "networks begin with another run (--from)"
    if sum(1 for _ in islice(read_lines(work.texts.train["source"]), MANY_PAIRS)) < MANY_PAIRS:
        return f"there are fewer than {MANY_PAIRS:,} pairs"
    chosen = isinstance(training, Mapping) and "threads" in training
    if chosen or torch.get_num_threads() < 2 or not means_cpu(str(given.get("device", "auto"))):
        return "two networks at once need two threads of a CPU, and training.threads left open"
    return ""


def _has_twin(work: Workshop, seconds: float) -> bool:
    """Return whether a second network is trained beside the first.

    Two trainings side by side make more updates than one on all cores. The mean of two networks gains more than the
    updates that each loses, once each reads the pairs often enough.
    """
    first = work.run("network")
    if _without_twin(work):
        return False
    if (first / SETTINGS_FILE).is_file():  # as it was begun
        return Run.open(first).experiment.training.threads != "auto"
    half = [f"training.max_minutes={seconds / 60:.3f}", f"training.threads={torch.get_num_threads() // 2}"]
    try:
        experiment, planned = plan_experiment(None, [*work.texts.data(), *half, *work.changes], say=lambda line: None)
    except ConfigError:  # as the training itself reports
        return False
    training, pieces = experiment.training, SENTENCE_PIECES * count_lines(work.texts.train["source"])
    updates = min(planned or 0, training.max_updates or math.inf)
    epochs = min(updates * (training.batch_tokens or 0) / pieces, training.max_epochs or math.inf)
    return epochs >= _TWIN_EPOCHS


class Twin(BestStep):
    """A second network of the same pairs with another random seed, which the step of the first network trained."""

    about = "a second network with another random seed, trained at the same time as the first"
    family: ClassVar[Family] = "network"
    fraction = 0.02

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        folder = RunFolder(work.run(name))
        if not (folder.path / SETTINGS_FILE).is_file():
            if not (work.run("network") / SETTINGS_FILE).is_file():
                work.needed("network")
            raise NoGainError(_without_twin(work) or "the time is too short for two, or was not planned")
        if not folder.finished:
            raise NoGainError("its training did not finish")
        return ""


class Taught(BestStep):
    """A network that also learns how the best translator so far translates more text of the source language."""

    about = "network that also learnt source text as the best so far translates it"
    family: ClassVar[Family] = "network"
    fraction = 0.18
    text = "source"

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        return taught(name, work, seconds, work.needed(), work.texts.more["source"])


class BackTranslated(BestStep):
    """A network that also learns target text beside its tagged back-translations.

    https://aclanthology.org/P16-1009, with the tag of https://aclanthology.org/W19-5206.
    """

    about = "network that also learnt target text, translated back and tagged"
    family: ClassVar[Family] = "network"
    fraction = 0.18
    text = "target"

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        start = time.monotonic()
        back, tagged = back_translated(work, _WRITING * seconds), work.synthetic_files(name)
        if not tagged["target"].is_file():
            kept = kept_back_translations(work, back, _WRITING / 2 * seconds)
            sources, targets = ([*read_lines(back[side])] for side in ("source", "target"))
            write_lines(tagged["source"], (f"{BACK_TAG} {sources[row]}" for row in kept))
            write_lines(tagged["target"], (targets[row] for row in kept))
        left = min((1 - _WRITING) * seconds, seconds - time.monotonic() + start)
        train_network(name, work, max(0.0, left), {name: tagged})
        return f"{count_lines(tagged['target']):,} of {count_lines(back['target']):,} lines translated back are kept"


class SelfTaught(BestStep):
    """A network that also learns the training sources as the best network translates them.

    https://arxiv.org/abs/1909.13788. Phrases have overfitted the training pairs, so they would teach nothing new here.
    """

    about = "network that also learnt the training sources as networks translate them"
    family: ClassVar[Family] = "network"
    fraction = 0.1

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        if RunFolder(work.run(TWIN_STEP)).finished:
            raise NoGainError(f"replaced by {TWIN_STEP}: two networks write together instead")
        teacher = work.needed("network")
        return taught(name, work, seconds, teacher, work.texts.train["source"])


class Distilled(BestStep):
    """One network that learns what the best combination writes: https://aclanthology.org/D16-1139."""

    about = "one fast network that learnt what the best combination writes"
    family: ClassVar[Family] = "network"
    fraction = 0.12

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        teacher = work.needed()
        if not work.is_joined(teacher):
            raise NoGainError("the best is one translator already")
        work.needed("network")  # to begin with
        return taught(name, work, seconds, teacher, work.texts.more.get("source", work.texts.train["source"]))


def _recombined_sources(name: str, work: Workshop) -> Path | None:
    """Return a file of the new sources of `recombined_pairs`; None for many pairs, or where none is new."""
    train, file = work.texts.train, work.folder / "texts" / f"{name}.lines"
    if count_lines(train["source"]) not in FEW_PAIRS:
        return None
    if not file.is_file():
        pairs = [*zip(*(read_lines(train[side]) for side in ("source", "target")), strict=True)]
        known = {source for source, _ in pairs}
        made = dict.fromkeys(source for _, (source, _) in recombined_pairs(pairs, COPIES, seed=1))
        write_lines(file, islice((source for source in made if source not in known), _MOST_SOURCES))
    return file if count_lines(file) else None


def count_lines(file: Path) -> int:
    """Return the number of lines of a text."""
    return sum(1 for _ in read_lines(file))
