"""regard train"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import resumable, say, say_unless
from regard.cli.group import INTERRUPTED, warn
from regard.cli.options import Quiet, data_option, run_option
from regard.errors import ConfigError, Fault

if TYPE_CHECKING:
    from regard.runs.request import TrainingRequest

_TEXT_SETTINGS = [f"data.{part}.{side}" for part in ("train", "dev", "old.train") for side in ("source", "target")]
_OPTIONS = {  # by the setting that each gives
    "data.train": "--source FILE --target FILE, or --text FILE for a language model, a classifier or a tagger",
    **{f"data.train.{name}": f"--{name} FILE" for name in ("source", "target", "text")},
    **{f"data.dev.{name}": f"--dev-{name} FILE" for name in ("source", "target")},
    **{f"data.old.train.{name}": "--old SOURCE TARGET" for name in ("source", "target")},
}

_of_run = partial(typer.Option, rich_help_panel="Run")
ConfigAndChanges = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE] [KEY=VALUE...]",
        help="A config (.yaml) or a file of pairs (.tsv .csv .jsonl .tmx .po), and setting overrides.",
    ),
]
TrainSource = Annotated[str | None, data_option(help="Source text to train on, one sentence a line (.gz too).")]
TrainTarget = Annotated[str | None, data_option(help="Its translation, line by line.")]
DevSource = Annotated[str | None, data_option(help="Source text of the dev set.")]
DevTarget = Annotated[str | None, data_option(help="Its translation. (default: part of the training data is held out)")]
OldTexts = Annotated[
    tuple[str, str] | None,
    data_option(
        "--old",
        metavar="SOURCE TARGET",
        help="Texts of the first training, mixed in against forgetting; train needs --from. (default: the run's)",
    ),
]
TrainText = Annotated[
    list[str] | None,
    data_option(
        help="Plain text for a language model; a table (.tsv .csv .jsonl) or a folder of folders for a classifier;"
        " .conll or .conllu for a tagger. Given twice: monolingual texts of two languages, for unsupervised"
        " translation."
    ),
]
RoundsSource = Annotated[Path | None, data_option(help="Monolingual source text.")]
RoundsTarget = Annotated[Path | None, data_option(help="Monolingual target text, for back-translation.")]
RoundCount = Annotated[
    int | None, data_option(min=1, metavar="INTEGER", help="Rounds of back-translation. (default: 2)")
]
RunFolderOption = Annotated[Path | None, _of_run(metavar="FOLDER", help="Folder of the run. (default: runs/...)")]
StartRun = Annotated[
    Path | None,
    run_option(
        "--from",
        rich_help_panel="Run",
        help="Run to fine-tune, on other texts or labels; or a folder that regard import reads.",
    ),
]
WordPairsFile = Annotated[
    Path | None, data_option("--seed-pairs", help="Seed dictionary of two --text, WORD<TAB>TRANSLATION a line.")
]
TrainMinutes = Annotated[
    float | None,
    _of_run(
        min=0.01,
        metavar="NUMBER",
        help="Time limit: training.max_minutes. Reading the texts, planning and the vocabulary come before it.",
    ),
]
Resume = Annotated[bool, _of_run("--resume", help="Continue an interrupted run.")]
PlanOption = Annotated[bool, _of_run("--plan", help="Only estimate memory and time.")]


def train_command(  # noqa: PLR0913  an option each
    words: ConfigAndChanges = None,
    *,
    source: TrainSource = None,
    target: TrainTarget = None,
    dev_source: DevSource = None,
    dev_target: DevTarget = None,
    old: OldTexts = None,
    text: TrainText = None,
    text_source: RoundsSource = None,
    text_target: RoundsTarget = None,
    rounds: RoundCount = None,
    run: RunFolderOption = None,
    start: StartRun = None,
    seed_pairs: WordPairsFile = None,
    minutes: TrainMinutes = None,
    resume: Resume = False,
    plan: PlanOption = False,
    quiet: Quiet = False,
) -> None:
    """Train a model.

    Its task follows from the data: sentence pairs, a table of labels and texts (.tsv), words with tags (.conll), or
    plain text. Settings are KEY=VALUE; regard help training explains them.

    regard train --source train.en --target train.de --run runs/en-de --minutes 10
    regard train --text reviews.tsv
    regard train --text news.en --text news.de --run runs/en-de
    regard train --source train.en --target train.de --text-target news.de --run runs/en-de
    regard train config.yaml training.max_updates=1000 run=runs/first
    regard train --from runs/first --source new.en --target new.de
    regard train runs/first --resume
    """
    from regard.runs.request import TrainingRequest

    texts, changes = text or [], [*(words or []), *_time_limit(minutes)]
    files = {"--source": source, "--target": target, "--dev-source": dev_source, "--dev-target": dev_target}
    one_language = {"--text-source": text_source, "--text-target": text_target}
    others = {"--old": old, "--from": start, "--resume": resume, "--plan": plan}
    if len(texts) > 1:
        _refuse({**files, **one_language, "--rounds": rounds, **others})
        return _train_without_pairs(texts, changes, run, seed_pairs, quiet=quiet)
    _refuse({"--seed-pairs": seed_pairs}, "pairs, nor with one text")
    named = dict(zip(_TEXT_SETTINGS, [*files.values(), *(old or (None, None))], strict=True))
    if text_source or text_target or rounds:
        _refuse({"--text": text, **others}, "text of one language")
        return _train_in_rounds(TrainingRequest.of_words(changes, named, run=run), one_language, rounds, quiet)
    start, one = start if resume else _imported(start, run, quiet=quiet), "".join(texts) or None
    request = TrainingRequest.of_words(changes, named, text=one, start=start, run=run, resume=resume)
    return _train(request, plan, quiet)


def _time_limit(minutes: float | None) -> list[str]:
    return [] if minutes is None else [f"training.max_minutes={minutes:g}"]


def _imported(start: Path | None, run: Path | None, *, quiet: bool) -> Path | None:
    """Return the run to start from, made first where `start` is a translator of another program."""
    from regard.config.reading import SETTINGS_FILE

    if start is None or (start / SETTINGS_FILE).exists() or not start.is_dir():
        return start
    from regard.exchange import start_of

    return start_of(start, run, say_unless(quiet))


def _train(request: "TrainingRequest", plan: bool, quiet: bool) -> None:
    """Train as a request says, or print what it would take."""
    from regard.recipes.best.program import advised_command, phrases_advice
    from regard.reports.forecast.coefficients import hopeless_plan
    from regard.runs import train_run
    from regard.runs.rehearsal import Rehearsal

    if request.resume and _goes_on_in_rounds(request, quiet):
        return
    if not (plan or request.resume):
        request.check_free()  # before the machine is measured
    with _options_named():
        (experiment, updates), opened = request.read(say_unless(quiet))
        if plan:
            print("\n".join(Rehearsal(experiment).plan(updates).lines(experiment)))
            return
        if not request.resume and (few := hopeless_plan(experiment, updates)):
            warn(f"{few}; give more --minutes, or train phrases beside it: {advised_command(experiment)}")
        elif not (request.resume or quiet) and (advice := phrases_advice(experiment)):
            say(advice)
        if not train_run(experiment, resume=request.resume, opened=opened, quiet=quiet):
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
    """Name options where settings are missing that have some."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError.of(_with_option(fault) for fault in error.faults) from error


def _with_option(fault: Fault) -> Fault:
    option = _OPTIONS.get(fault.place) if fault.problem == "must be given" else None
    return fault._replace(hint=f"{option}; or in a config {fault.place}") if option else fault
