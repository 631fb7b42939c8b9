"""regard train"""

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
    from regard.runs.request import TrainingRequest

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
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="A plain text for a language model, or for the task that is named; a table (.tsv .csv .jsonl) or a folder"
        " of folders for a classifier of texts or of pairs; words with tags (.conll .conllu) for a tagger. Given twice:"
        " texts of two languages, no translations of each other, for a translator without pairs.",
    ),
]
RunFolderOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where the model goes (default: runs/...).")
]
StartRun = Annotated[
    Path | None,
    typer.Option("--from", metavar="RUN", help="A run whose model goes on learning, from other texts or labels."),
]
WordPairsFile = Annotated[
    Path | None,
    typer.Option("--seed-pairs", metavar="FILE", help="With two texts: known words, WORD<TAB>TRANSLATION a line."),
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
    seed_pairs: WordPairsFile = None,
    resume: Resume = False,
    plan: PlanOption = False,
    quiet: Quiet = False,
) -> None:
    """Train a model.

    regard train --source train.en --target train.de

    regard train pairs.tsv

    regard train --text novel.txt task.window=200 task.context=50

    regard train --text news.en --text news.de --run runs/en-de   (a translator without pairs)

    regard train --text reviews.tsv   (label and text, or two texts and a label)

    regard train --text names.conll   (a word and its tag a line)

    regard train config.yaml training.max_updates=1000 run=runs/first

    regard train --from runs/first --source new.en --target new.de

    regard train runs/first --resume
    """
    from regard.runs.request import TrainingRequest

    texts = text or []
    if len(texts) > 1:
        _refuse({"--source": source, "--target": target, "--from": start, "--resume": resume, "--plan": plan})
        return _train_without_pairs(texts, words or [], run, seed_pairs, quiet=quiet)
    files = {"train.source": source, "train.target": target, "dev.source": dev_source, "dev.target": dev_target}
    named = {f"data.{name}": file for name, file in files.items()}
    given = "".join(texts) or None
    _train(TrainingRequest.of_words(words or [], named, text=given, start=start, run=run, resume=resume), plan, quiet)


def _train(request: "TrainingRequest", plan: bool, quiet: bool) -> None:
    """Train as a request says, or print what it would take."""
    from regard.runs import train_run
    from regard.runs.rehearsal import Rehearsal

    if not (plan or request.resume):
        request.check_free()  # before the machine is measured
    with _options_named():
        experiment, opened = request.read(say_unless(quiet))
        if plan:
            print("\n".join(Rehearsal(experiment).plan().lines(experiment)))
        elif not train_run(experiment, resume=request.resume, opened=opened, quiet=quiet):
            raise typer.Exit(INTERRUPTED)


def _refuse(options: Mapping[str, object]) -> None:
    """Raise ConfigError for options, by name, that are given and do not go with two texts."""
    for name in filter(options.get, options):
        raise ConfigError(name, "does not go with two texts", "leave it out; to go on: regard train RUN --resume")


def _train_without_pairs(
    texts: list[str], changes: list[str], run: Path | None, seed_pairs: Path | None, *, quiet: bool
) -> None:
    """Train on texts of two languages. Raises ConfigError for more texts, and without a folder."""
    from regard.recipes.no_pairs import UnpairedRequest, train_without_pairs

    if len(texts) > 2:
        raise ConfigError("--text", f"is given {len(texts)} times", "one text, or texts of two languages")
    if run is None:
        raise ConfigError("--run", "must be given with two texts", "--run FOLDER")
    first, second = map(Path, texts)
    if not train_without_pairs(
        UnpairedRequest((first, second), run, changes, seed_pairs), say_unless(quiet), quiet=quiet
    ):
        raise typer.Exit(INTERRUPTED)


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
