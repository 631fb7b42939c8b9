"""regard check"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.emit import emit, say_unless
from regard.cli.files import check_writable, is_change
from regard.cli.options import Json, Quiet, file_option, integer_option, number_option
from regard.errors import ConfigError

_FAILED = 1  # exit code below --fail-under

Contestants = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN|EXPORT|URL... [KEY=VALUE...]",
        help="Runs of translators, exports of them, Argos packages (.argosmodel), and servers like LibreTranslate or "
        "DeepL; setting overrides of the runs.",
    ),
]
CheckLanguages = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="SOURCE TARGET", help="Language codes. (default: the run's; needed for servers)"),
]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="SUITE", help="Run this suite alone; repeatable.")]
OwnSuites = Annotated[
    list[Path] | None, file_option("--suite", help="Suite of one's own (.yaml), beside the others; repeatable.")
]
CasesOption = Annotated[int, integer_option(min=1, max=1000, help="Cases of a suite, at most.")]
CheckSeed = Annotated[int, integer_option(help="Seed of the texts.")]
PrintedFaults = Annotated[int, integer_option(min=0, help="Wrong answers of a suite to print.")]
BadgeFile = Annotated[Path | None, file_option(help="Write a badge of the first system: .svg.")]
TablePlot = Annotated[Path | None, file_option("--plot", help="Write the table as a heat map: .svg.")]
FailUnder = Annotated[
    float | None, number_option(min=0, max=100, help="Exit with 1 where the mean of a system is below, per cent.")
]


def behaviour_command(
    words: Contestants,
    *,
    languages: CheckLanguages = None,
    only: Only = None,
    suite: OwnSuites = None,
    cases: CasesOption = 20,
    seed: CheckSeed = 1,
    examples: PrintedFaults = 2,
    plot: TablePlot = None,
    badge: BadgeFile = None,
    fail_under: FailUnder = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test how translators treat negations, numbers, names, tags and the like.

    Prints the percentage of answers without a certain error, suite by suite, for runs, exports, Argos packages
    and servers side by side. It does not measure quality (regard evaluate does). The key of the first server is read
    from the variable REGARD_API_KEY; that of another one from its own, such as REGARD_API_KEY_API_FREE_DEEPL_COM.

    regard check runs/en-de
    regard check runs/a exports/a-int8 en_de.argosmodel --only negation --only numbers
    regard check runs/en-de http://127.0.0.1:5000 --languages en de --badge behaviour.svg
    regard check runs/en-de --suite shop.yaml --fail-under 90
    """
    _check_svg({"--plot": plot, "--badge": badge})
    from regard.reports.behaviour.behaviour import BADGE, behaviour_report, check_contestants, read_suites
    from regard.reports.behaviour.contestants import is_url, open_contestants
    from regard.reports.behaviour.suites import SUITES

    changes = [word for word in words if not is_url(word) and is_change(word)]
    named = [word for word in words if word not in changes]
    if not named:
        raise ConfigError("RUN|EXPORT|URL", "must be given", "regard check RUN")
    say, own = say_unless(quiet), read_suites(suite or [])
    for name in {*(only or ())} - own.keys():
        SUITES[name]  # an unknown one is refused before a run is opened
    systems = open_contestants(named, changes, languages, say)
    found = check_contestants(systems, only=only or (), own=own, cases=cases, seed=seed, say=say)
    report = behaviour_report(found, examples=examples)
    emit(report, as_json=as_json, files={".svg": plot, BADGE: badge})
    if fail_under is not None and found.is_below(fail_under):
        raise typer.Exit(_FAILED)


def _check_svg(files: Mapping[str, Path | None]) -> None:
    """Raise ConfigError for the first file, by option, that is not an SVG."""
    for option, file in files.items():
        if file is not None and file.suffix.lower() != ".svg":
            raise ConfigError(option, f"is written as .svg, not '{file.suffix}'", f"{option} FILE.svg")
        check_writable(file, option)
