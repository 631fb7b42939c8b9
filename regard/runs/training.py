"""From settings to a trained run."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from shlex import quote
from typing import Literal

import torch

from regard.config import quoted
from regard.data.manifest import note_file
from regard.errors import ConfigError
from regard.experiment import Experiment
from regard.experiment.complete_settings import learnt_examples
from regard.ops import machine
from regard.ops.memory import keep_memory
from regard.ops.processor import processor
from regard.ops.timings import timings
from regard.registry import Choice
from regard.runs.adaptation import CHOICE, Adaptation
from regard.runs.folder import RunFolder, choose_device
from regard.runs.measurements import ADAPTATION
from regard.runs.request import TrainingRequest
from regard.runs.run import Run
from regard.runs.stages import (
    Built,
    Prepared,
    Started,
    Validated,
    built,
    prepared,
    selects_by_choice,
    started,
    validated,
)
from regard.runs.texts import part_reader
from regard.statistical.language_checks import are_exchanged, in_one_language, misnamed_languages
from regard.statistical.pair_checks import CLEAR_FAULT, PAIR_CHECKS, PairCorpus, TextPair, check_class
from regard.tasks.task import usage_of
from regard.training.checkpoint import step_folder, steps
from regard.training.interrupt import Interrupted
from regard.training.progress import Progress
from regard.training.settings import LIMITS
from regard.training.trainer import Trainer, TrainingReport
from regard.training.world import World, joined_world

_CHECKED = 20_000  # first pairs that are checked before each training
_FEW = 0.0005  # fraction of pairs with an error that is reported


@dataclass(frozen=True)
class TrainedRun:
    """Result of `regard.train`. `regard.load`, `regard.evaluate` and `pathlib.Path` take it for its folder."""

    folder: Path
    metric: str  # of the dev set, by which the checkpoint was selected
    score: float | None  # its best value; None without a dev set, and after an interruption
    updates: int
    seconds: float  # wall-clock time of training, validation included
    reason: str  # of the end: "max_minutes reached", "interrupted" …

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        best = "" if self.score is None else f"best dev {self.metric} {self.score:.2f}, "
        return (
            f"TrainedRun({self.folder}: {best}{self.updates:,} updates in {self.seconds / 60:.1f} min, {self.reason})"
        )


def train(
    config: Path | str | None = None,
    changes: Sequence[str] = (),
    *,
    source: Path | str | None = None,
    target: Path | str | None = None,
    text: Path | str | None = None,
    run: Path | str | None = None,
    start: Path | str | None = None,
    quiet: bool = False,
) -> TrainedRun:
    """Train a model, and keep it in the folder of a run.

    >>> regard.train(source="train.en", target="train.de", run="runs/en-de")

    Args:
        config: A config file (.yaml).
        changes: Settings as on the command line: ["training.max_minutes=10"].
        source: Training text of a translator, one sentence a line.
        target: Its translation, line by line.
        text: Training text of a language model, or a table or folder of labelled texts.
        run: Folder of the run; by default a new one under runs/.
        start: Run whose model is trained further.
        quiet: Print nothing on stderr.

    Returns:
        The folder, the dev score, updates, seconds, and the reason of the end.

    Raises:
        ConfigError: A setting is unknown, missing or wrong; every fault has a line.
        DataError: A file or a line of it cannot be used.
        TrainingError: Training cannot continue, as after a loss that is not a number.
    """

    def path(given: Path | str | None) -> Path | None:
        return None if given is None else Path(given)

    files = {"data.train.source": source, "data.train.target": target, "run": run}
    words = [f"{name}={quoted(str(file))}" for name, file in files.items() if file is not None]
    request = TrainingRequest(path(config), [*changes, *words], None if text is None else str(text), path(start))
    say = partial(print, file=sys.stderr, flush=True) if not quiet else lambda line: None
    experiment, begun = named(request.read(say)[0].experiment), time.perf_counter()
    folder, metric = run_of(experiment).path, experiment.training.metric
    report = train_run(experiment, quiet=quiet)
    if report is None:
        saved = [int(one.name.rpartition("-")[2]) for one in steps(folder)]
        return TrainedRun(folder, metric, None, max(saved, default=0), time.perf_counter() - begun, "interrupted")
    return TrainedRun(folder, metric, report.score, report.updates, report.seconds, report.reason)


def train_run(
    experiment: Experiment,
    *,
    resume: bool = False,
    opened: Run | None = None,
    quiet: bool = False,
    hints: bool = True,
) -> TrainingReport | None:
    """Train until a limit is reached, and return the outcome; None after an interruption, which saves.

    `hints`: report errors of the data, and next steps.

    A new run that cannot be prepared leaves no folder. Resuming a run that has saved nothing starts it; `opened` is the
    resumed run, where it is open already. Under torchrun every process calls it, and all train one model.
    Raises RegardError.
    """
    keep_memory()
    if experiment.decoding.route is not None:
        raise ConfigError("decoding.route", "is for a trained model: training is on all routes", "leave it out")
    with joined_world(choose_device(experiment.device)) as world:
        experiment = world.agree(named(experiment))
        folder = run_of(experiment)
        progress = Progress(folder.path, quiet=quiet, silent=not world.first)
        with ExitStack() as stack:
            stack.enter_context(_settled_machine(experiment, world, progress))
            with ExitStack() as making:
                prepare = partial(prepared, experiment, progress, world, resume=resume, opened=opened)
                stages = world.in_order(lambda: _stages(prepare(held=stack, making=making)))
                trainer = _trainer(*stages).prepare(resume=folder.started)
            ready, *_, evaluated = stages
            world.by_first(lambda: folder.keep(ready.experiment, ready.before))
            for line in data_findings(ready.experiment) if hints and not resume else ():
                progress.say(line)
            try:
                report = trainer.train()
                world.by_first(lambda: note_file(progress.path, settled=True))
            except Interrupted as interrupted:
                torchrun = f"torchrun --nproc_per_node={world.size} -m " if world.size > 1 else ""
                option = "" if torchrun else "--run "  # which torchrun would take for its own
                command = f"{torchrun}regard train {option}{quote(str(folder))} --resume"
                if hints:
                    progress.say(f"{interrupted}; resume with: {command}")
                return None
            _report(report, ready, evaluated, hints=hints)
            return report


@contextmanager
def _settled_machine(experiment: Experiment, world: World, progress: Progress) -> Iterator[None]:
    """Choose threads and the matrix-multiplication backend on a CPU.

    The first process measures before the others start, which would slow it down.
    """
    before, settings = torch.get_num_threads(), experiment.training
    if world.device.type != "cpu":
        yield
        return
    with machine.settled(settings.products, settings.threads, lambda: world.in_order(timings)) as threads:
        if threads < before and settings.threads == "auto":
            progress.say(f"trains on {threads} of {before} threads: more are not faster here (regard doctor)")
        if settings.precision == "bf16" and processor().flags and not processor().has("bfloat16"):
            progress.warn("training.precision=bf16 is slower than float32 here: the processor has no bfloat16")
        yield


def run_of(experiment: Experiment) -> RunFolder:
    """Return the folder of an experiment's model; it must be `named`."""
    return RunFolder(experiment.run or Path("runs"))


def named(experiment: Experiment) -> Experiment:
    """Return an experiment with a run folder: by default named after the languages and the time."""
    if experiment.run is not None:
        return experiment
    languages = "-".join(code for code in experiment.data.language_pair() if code) or "run"
    first = Path("runs") / f"{languages}-{time.strftime('%Y%m%d-%H%M%S')}"
    others = (first.with_name(f"{first.name}-{number}") for number in count(2))  # of the same second
    return replace(experiment, run=next(path for path in chain([first], others) if not path.exists()))


def _stages(ready: Prepared) -> tuple[Prepared, Built, Started, Validated]:
    """Set up a training, stage by stage."""
    made = built(ready)
    begun = started(ready, made)
    return ready, made, begun, validated(ready, made, begun)


def _trainer(ready: Prepared, made: Built, begun: Started, evaluated: Validated) -> Trainer:
    return Trainer(
        made.model,
        evaluated.objective,
        begun.batches,
        settings=ready.experiment.training,
        run=ready.folder.path,
        validate=evaluated.validation,
        higher_is_better=evaluated.higher_is_better,
        progress=ready.progress,
        world=ready.world,
        halvings=evaluated.halvings,
        validate_start=evaluated.continues and evaluated.validation is not None,
        criterion=CHOICE if selects_by_choice(evaluated.validation) else None,
    )


def _report(report: TrainingReport, ready: Prepared, evaluated: Validated, *, hints: bool) -> None:
    experiment, folder, progress = ready.experiment, ready.folder, ready.progress
    score = (
        ""
        if report.score is None or selects_by_choice(evaluated.validation)
        else f", best dev {experiment.training.metric} {report.score:.2f}"
    )
    updates = f": {report.updates:,} updates in {report.seconds / 60:.1f} min" if report.updates else ""
    progress.say(f"{report.reason}{updates}{score}")
    command = f"regard train {quote(str(folder))} --resume"
    others = [name for name in LIMITS if name != "max_minutes" and getattr(experiment.training, name) is not None]
    limits = "".join(f" training.{name}=null" for name in others)  # which would end a longer training
    if isinstance(evaluated.validation, Adaptation) and ready.world.size == 1:
        outcome = evaluated.validation.outcome(report.checkpoint)
        Run.open(folder).measurements.keep(ADAPTATION, outcome.values())
        for line in outcome.lines():
            progress.say(line)
    elif evaluated.continues and report.checkpoint == step_folder(folder.path, 0):
        progress.say(f"no checkpoint beats the start ({experiment.training.metric}): its weights are kept")
    elif report.rising and hints:
        minutes = max(2, round(report.seconds / 60 * 3))  # in total, the past included
        if experiment.training.schedule.settings.get("updates"):
            limits += f" training.schedule.updates={report.updates * 3}"
        progress.say(f"{report.rising}; continue with: {command}{limits} --minutes {minutes}")
    if hints:
        parts = [f" parts={quote(str(one))}" for one in experiment.parts[:1]]
        progress.say(usage_of(experiment.task_class, "".join([quote(str(folder)), *parts])))


def data_findings(experiment: Experiment) -> list[str]:
    """Return up to three lines on clear errors in the first pairs, by quick checks.

    Languages, and dev pairs among the training pairs, come first.
    """
    if experiment.task.name != "translation":
        return []
    examples = islice(learnt_examples(experiment), _CHECKED)
    corpus = PairCorpus([TextPair(str(one.texts["source"]), str(one.texts["target"])) for one in examples])
    lines = list[tuple[int, str]]()
    if seen := _seen_dev_pairs(experiment):
        lines.append((len(corpus.pairs), f"{seen:,} dev pairs are training pairs: dev scores will be too high"))
    for name in filter(lambda name: check_class(name).quick, PAIR_CHECKS):
        clear = [one for one in PAIR_CHECKS.build(Choice(name)).findings(corpus) if one.severity >= CLEAR_FAULT]
        if len(clear) >= max(1, _FEW * len(corpus.pairs)):
            first = f"{check_class(name).about} in {len(clear):,} of {len(corpus.pairs):,} pairs"
            lines.append((len(clear), f"{first}, as in line {clear[0].row + 1:,}: {clear[0].reason}"))
    languages = [line for view in experiment.views().values() for line in _language_findings(view)]
    worst = [*languages, *(line for _, line in sorted(lines, reverse=True))][:3]
    return [*worst[:-1], f"{worst[-1]} (all errors: regard data check FILES)"] if worst else []


def _language_findings(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each contradiction in the languages of the pairs of one route."""
    if (train := _first_pairs(experiment, "train")) is None:
        return
    if in_one_language(*train.sides):
        yield "both sides are in one language"
    elif line := misnamed_languages(train.sides, experiment.data.language_pair()):
        yield line
    dev = _first_pairs(experiment, "dev")
    if dev is not None and are_exchanged(dev.sides, train.sides):
        yield "source and target of the dev set are exchanged: its source is like the training target"


def _first_pairs(experiment: Experiment, part: Literal["train", "dev"]) -> PairCorpus | None:
    """Return the first pairs of the files of a part; None without files."""
    if (reader := part_reader(experiment, part)) is None:
        return None
    return PairCorpus([TextPair(*map(str, one.texts.values())) for one in islice(reader, _CHECKED)])


def _seen_dev_pairs(experiment: Experiment) -> int:
    """Return the number of dev pairs among the training pairs."""
    if (reader := part_reader(experiment, "dev")) is None:
        return 0
    dev = {tuple(one.texts.values()) for one in reader}
    return len({pair for one in learnt_examples(experiment) if (pair := tuple(one.texts.values())) in dev})
