"""regard train"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import say_unless
from regard.cli.group import INTERRUPTED
from regard.cli.options import Quiet
from regard.errors import ConfigError, Fault

if TYPE_CHECKING:
    from regard.experiment import Experiment

_CONFIGS = (".yaml", ".yml", ".json")
_OPTIONS = {  # by the setting that each gives
    "data.train": "--source FILE --target FILE, or --text FILE for a language model, a classifier or a tagger",
    **{f"data.train.{name}": f"--{name} FILE" for name in ("source", "target", "text")},
    **{f"data.dev.{name}": f"--dev-{name} FILE" for name in ("source", "target")},
}

ConfigAndChanges = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE KEY=VALUE", help="A config, or a file of pairs (.tsv .csv .jsonl .tmx); and changes."),
]
TrainSource = Annotated[
    str | None, typer.Option(metavar="FILE", help="Text to learn from, one sentence a line (.gz too).")
]
TrainTarget = Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")]
DevSource = Annotated[str | None, typer.Option(metavar="FILE", help="Text to choose the best model by.")]
DevTarget = Annotated[str | None, typer.Option(metavar="FILE", help="Its translation (default: a share held out).")]
TrainText = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A plain text for a language model, or for the task that is named; a table (.tsv .csv .jsonl) or a folder"
        " of folders for a classifier of texts or of pairs; words with tags (.conll .conllu) for a tagger.",
    ),
]
RunFolderOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where the model goes (default: runs/...).")
]
StartRun = Annotated[
    Path | None,
    typer.Option("--from", metavar="RUN", help="A run whose model goes on learning, from other texts or labels."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")]
PlanOption = Annotated[bool, typer.Option("--plan", help="Only tell how much memory and time it would take.")]


def train_command(
    words: ConfigAndChanges = None,
    *,
    source: TrainSource = None,
    target: TrainTarget = None,
    dev_source: DevSource = None,
    dev_target: DevTarget = None,
    text: TrainText = None,
    run: RunFolderOption = None,
    start: StartRun = None,
    resume: Resume = False,
    plan: PlanOption = False,
    quiet: Quiet = False,
) -> None:
    """Train a model.

    regard train --source train.en --target train.de

    regard train pairs.tsv

    regard train --text novel.txt task.window=200 task.context=50

    regard train --text reviews.tsv   (label and text, or two texts and a label)

    regard train --text names.conll   (a word and its tag a line)

    regard train config.yaml training.max_updates=1000 run=runs/first

    regard train --from runs/first --source new.en --target new.de

    regard train runs/first --resume
    """
    from regard.experiment import read_experiment
    from regard.runs import train_run

    config, changes = config_and_changes(words or [])
    _check_config(config, words or [], resume=resume)
    if config is not None and config.is_dir():
        config, run = None, run or config
    _check_options(text and (source or target), start if resume else None)
    pairs = {"train.source": source, "train.target": target, "dev.source": dev_source, "dev.target": dev_target}
    changes += _file_settings(pairs, run)
    _check_free(None if plan or resume else run)  # before the machine is measured
    with _options_named():
        if config is not None or not resume:
            experiment = read_experiment(config, changes, text=text, start=start, say=say_unless(quiet))
        else:
            experiment = _resumed(changes, text)
    if not (_tell_plan(experiment) if plan else train_run(experiment, resume=resume, quiet=quiet)):
        raise typer.Exit(INTERRUPTED)


def _file_settings(files: Mapping[str, str | None], run: Path | None) -> list[str]:
    """Changes that name data and the run's folder."""
    from regard.config import quoted

    named = {**{f"data.{name}": file for name, file in files.items()}, "run": str(run) if run else None}
    return [f"{name}={quoted(file)}" for name, file in named.items() if file]


def _check_config(config: Path | None, words: list[str], *, resume: bool) -> None:
    """Raise ConfigError for a run that is not there or not to be resumed, and for texts given as a config."""
    from regard.experiment.data import by_ending

    if config is None:
        return
    if config.is_dir() and not resume:
        raise ConfigError(str(config), "this is a folder", f"to go on with a run: regard train {config} --resume")
    if resume and not config.exists():
        raise ConfigError(str(config), "there is no such run to go on with", "regard train RUN --resume")
    if config.is_file() and config.suffix not in _CONFIGS and not by_ending(str(config)):
        other = next((word for word in words[1:] if "=" not in word), "FILE")
        hint = f"two texts: regard train --source {config} --target {other}"
        raise ConfigError(str(config), "is no config (.yaml), nor a table of pairs", hint)


def _check_free(run: Path | None) -> None:
    """Raise ConfigError for a folder that is there; of several processes the first looks."""
    from regard.runs import RunFolder

    if run is not None and os.environ.get("RANK", "0") == "0":
        RunFolder(run).check_free()


def _check_options(both: str | None, start: Path | None) -> None:
    """Raise ConfigError for options that exclude each other."""
    if both:
        problem = "is for a language model, a classifier or a tagger, --source for a translator"
        raise ConfigError("--text", problem, "use one of them")
    if start is not None:
        raise ConfigError("--from", "is for a new run", "leave it out: --resume needs the run alone")


@contextmanager
def _options_named() -> Iterator[None]:
    """Tell options where settings are missing that have some."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError.of(_with_option(fault) for fault in error.faults) from error


def _with_option(fault: Fault) -> Fault:
    option = _OPTIONS.get(fault.place) if fault.problem == "must be given" else None
    return fault._replace(hint=f"{option}; or in a config {fault.place}") if option else fault


def _tell_plan(experiment: "Experiment") -> bool:
    from regard.runs.rehearsal import Rehearsal

    print("\n".join(Rehearsal(experiment).plan().lines(experiment)))
    return True


def _resumed(changes: list[str], text: str | None) -> "Experiment":
    """The settings a run was made with, with changes; it may stand elsewhere by now."""
    from regard.config import parse_changes
    from regard.experiment import text_settings
    from regard.runs import Run

    run = parse_changes(changes).get("run")
    if not isinstance(run, str):
        raise ConfigError("--resume", "needs the run that is to go on", "--run FOLDER")
    data = [] if text is None else text_settings(text, Run.open(run).experiment.task.name)[1]
    return Run.open(run, [*data, *changes]).experiment


def config_and_changes(words: list[str]) -> tuple[Path | None, list[str]]:
    """The config file, if the first word is one, and the changes."""
    first, *rest = words or [""]
    if first and ("=" not in first or Path(first).is_file()):
        return Path(first), rest
    return None, list(words)
