"""regard train"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import resumable, say_unless
from regard.cli.group import INTERRUPTED
from regard.cli.options import Quiet
from regard.errors import ConfigError, Fault

if TYPE_CHECKING:
    from regard.runs.request import TrainingRequest

_TEXT_SETTINGS = "data.train.source", "data.train.target", "data.dev.source", "data.dev.target"
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
RoundsSource = Annotated[
    Path | None, typer.Option(metavar="FILE", help="More text of the source language, without translations.")
]
RoundsTarget = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="More text of the target language: learnt by back-translation, in rounds."),
]
RoundCount = Annotated[int | None, typer.Option(min=1, metavar="N", help="Rounds of back-translation. (default: 2)")]
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


def train_command(  # noqa: PLR0913  an option each
    words: ConfigAndChanges = None,
    *,
    source: TrainSource = None,
    target: TrainTarget = None,
    dev_source: DevSource = None,
    dev_target: DevTarget = None,
    text: TrainText = None,
    text_source: RoundsSource = None,
    text_target: RoundsTarget = None,
    rounds: RoundCount = None,
    run: RunFolderOption = None,
    start: StartRun = None,
    seed_pairs: WordPairsFile = None,
    resume: Resume = False,
    plan: PlanOption = False,
    quiet: Quiet = False,
) -> None:
    """Train a model.

    regard train --source train.en --target train.de   (or a table: regard train pairs.tsv)

    regard train --text news.en --text news.de --run runs/en-de   (a translator without pairs; task=phrases: by phrases)

    regard train --text reviews.tsv   (label and text, or two texts and a label; .conll: words and tags)

    regard train --source train.en --target train.de --text-target news.de --run runs/en-de

    regard train config.yaml training.max_updates=1000 run=runs/first

    regard train --from runs/first --source new.en --target new.de

    regard train runs/first --resume
    """
    from regard.runs.request import TrainingRequest

    texts, changes = text or [], words or []
    files = {"--source": source, "--target": target, "--dev-source": dev_source, "--dev-target": dev_target}
    one_language = {"--text-source": text_source, "--text-target": text_target}
    if len(texts) > 1:
        _refuse({**files, **one_language, "--rounds": rounds, "--from": start, "--resume": resume, "--plan": plan})
        return _train_without_pairs(texts, changes, run, seed_pairs, quiet=quiet)
    _refuse({"--seed-pairs": seed_pairs}, "pairs, nor with one text")
    named = dict(zip(_TEXT_SETTINGS, files.values(), strict=True))
    given = "".join(texts) or None
    if text_source or text_target or rounds:
        _refuse({"--text": given, "--from": start, "--resume": resume, "--plan": plan}, "text of one language")
        return _train_in_rounds(TrainingRequest.of_words(changes, named, run=run), one_language, rounds, quiet)
    request = TrainingRequest.of_words(changes, named, text=given, start=start, run=run, resume=resume)
    return _train(request, plan, quiet)


def _train(request: "TrainingRequest", plan: bool, quiet: bool) -> None:
    """Train as a request says, or print what it would take."""
    from regard.runs import train_run
    from regard.runs.rehearsal import Rehearsal

    if request.resume and _goes_on_in_rounds(request, quiet):
        return
    if not (plan or request.resume):
        request.check_free()  # before the machine is measured
    with _options_named():
        experiment, opened = request.read(say_unless(quiet))
        if plan:
            print("\n".join(Rehearsal(experiment).plan().lines(experiment)))
        elif not train_run(experiment, resume=request.resume, opened=opened, quiet=quiet):
            raise typer.Exit(INTERRUPTED)


def _refuse(options: Mapping[str, object], what: str = "two texts") -> None:
    """Raise ConfigError for options, by name, that are given and do not go with `what`."""
    for name in filter(options.get, options):
        raise ConfigError(name, f"does not go with {what}", "leave it out; to go on: regard train RUN --resume")


def _train_in_rounds(
    request: "TrainingRequest", text: Mapping[str, Path | None], rounds: int | None, quiet: bool
) -> None:
    """Train on pairs and text of one language, by option. Raises ConfigError without a folder."""
    from regard.recipes.back_translation import back_translate
    from regard.recipes.one_language import BackTranslationRequest, rounds_settings

    if request.run is None:
        raise ConfigError("--run", "must be given with text of one language", "--run FOLDER")
    settings, changes = rounds_settings(request.changes, rounds)
    with _options_named(), resumable():
        given = {option.removeprefix("--text-"): file for option, file in text.items() if file is not None}
        wanted = BackTranslationRequest(request.run, request.config, changes, given, settings)
        back_translate(wanted, say=say_unless(quiet), quiet=quiet)


def _goes_on_in_rounds(request: "TrainingRequest", quiet: bool) -> bool:
    """Go on with a back-translation, if the run is one, and return whether it is. Raises ConfigError for changes."""
    from regard.recipes.one_language import BackTranslationRequest, in_rounds

    if request.run is None or not in_rounds(request.run):
        return False
    if changes := [one for one in request.changes if not one.startswith("run=")]:
        raise ConfigError(changes[0], "cannot change in rounds that have begun", "leave it out")
    from regard.recipes.back_translation import back_translate

    with resumable():
        back_translate(BackTranslationRequest(request.run), resume=True, say=say_unless(quiet), quiet=quiet)
    return True


def _train_without_pairs(
    texts: list[str], changes: list[str], run: Path | None, seed_pairs: Path | None, *, quiet: bool
) -> None:
    """Train on texts of two languages. Raises ConfigError for more texts, and without a folder."""
    from regard.config.merging import parse_changes
    from regard.recipes.no_pairs import UnpairedRequest, train_without_pairs
    from regard.recipes.phrases_without_pairs import train_phrases_without_pairs

    if len(texts) > 2:
        raise ConfigError("--text", f"is given {len(texts)} times", "one text, or texts of two languages")
    if run is None:
        raise ConfigError("--run", "must be given with two texts", "--run FOLDER")
    first, second = map(Path, texts)
    others = [change for change in changes if change not in ("task=phrases", "task.name=phrases")]
    task = parse_changes(changes).get("task")
    name = task.get("name") if isinstance(task, Mapping) else task
    train = train_phrases_without_pairs if name == "phrases" else train_without_pairs
    if not train(UnpairedRequest((first, second), run, others, seed_pairs), say_unless(quiet), quiet=quiet):
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
