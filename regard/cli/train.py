"""regard train"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.group import INTERRUPTED
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.experiment import Experiment

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE KEY=VALUE", help="A config, or a file of pairs (.tsv .csv .jsonl .tmx); and changes."),
]
Source = Annotated[str | None, typer.Option(metavar="FILE", help="Text to learn from, one sentence a line (.gz too).")]
Target = Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")]
DevSource = Annotated[str | None, typer.Option(metavar="FILE", help="Text to choose the best model by.")]
DevTarget = Annotated[str | None, typer.Option(metavar="FILE", help="Its translation (default: a share held out).")]
Text = Annotated[str | None, typer.Option(metavar="FILE", help="Text to learn a language model from (.gz too).")]
Run = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the model goes (default: runs/...).")]
Start = Annotated[
    Path | None, typer.Option("--from", metavar="RUN", help="A run whose model goes on learning, from other texts.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")]
Plan = Annotated[bool, typer.Option("--plan", help="Only tell how much memory and time it would take.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only what is wrong.")]


def train_command(
    words: Words = None,
    *,
    source: Source = None,
    target: Target = None,
    dev_source: DevSource = None,
    dev_target: DevTarget = None,
    text: Text = None,
    run: Run = None,
    start: Start = None,
    resume: Resume = False,
    plan: Plan = False,
    quiet: Quiet = False,
) -> None:
    """Train a model.

    regard train --source train.en --target train.de

    regard train pairs.tsv

    regard train --text novel.txt task.window=200 task.context=50

    regard train config.yaml training.max_updates=1000 run=runs/first

    regard train --from runs/first --source new.en --target new.de

    regard train runs/first --resume

    regard train config.yaml --plan
    """
    from regard.config import quoted
    from regard.experiment import read_experiment
    from regard.runs import train_run

    config, changes = split_words(words or [])
    if config is not None and config.is_dir():
        if not resume:
            raise ConfigError(str(config), "this is a folder", f"to go on with a run: regard train {config} --resume")
        config, run = None, run or config
    if start is not None and resume:
        raise ConfigError("--from", "is for a new run", "leave it out: --resume needs the run alone")
    named = {"data.train.source": source, "data.train.target": target, "data.train.text": text}
    named |= {"data.dev.source": dev_source, "data.dev.target": dev_target, "run": str(run) if run else None}
    changes = [*(["task.name=language_model"] if text else []), *changes]
    changes += [f"{name}={quoted(file)}" for name, file in named.items() if file]
    resumed = resume and config is None
    experiment = _resumed(changes) if resumed else read_experiment(config, changes, start=start, say=_say(quiet))
    if not (_tell_plan(experiment) if plan else train_run(experiment, resume=resume, quiet=quiet)):
        raise typer.Exit(INTERRUPTED)


def _tell_plan(experiment: "Experiment") -> bool:
    from regard.runs.memory_plan import lines_of, memory_plan

    print("\n".join(lines_of(memory_plan(experiment), experiment)))
    return True


def _say(quiet: bool) -> Callable[[str], None]:
    return lambda line: None if quiet else print(line, file=sys.stderr, flush=True)


def _resumed(changes: list[str]) -> "Experiment":
    """The settings a run was made with, with changes; it may stand elsewhere by now."""
    from regard.config import parse_changes
    from regard.runs import RunFolder

    run = parse_changes(changes).get("run")
    if not isinstance(run, str):
        raise ConfigError("--resume", "needs the run that is to go on", "--run FOLDER")
    return RunFolder(Path(run)).experiment(changes)


def split_words(words: list[str]) -> tuple[Path | None, list[str]]:
    """The config file, if the first word is one, and the changes."""
    first, *rest = words or [""]
    if first and ("=" not in first or Path(first).is_file()):
        return Path(first), rest
    return None, list(words)
