"""regard compare"""

import shlex
import sys
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.emit import emit, resumable, say
from regard.cli.files import check_writable, paths_and_changes
from regard.cli.options import Json, Quiet, file_option, folder_option, integer_option, name_option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.reports.compare.compare import Request

_of_budget = partial(typer.Option, rich_help_panel="Budget of each run")
ConfigsAndChanges = Annotated[
    list[str], typer.Argument(metavar="CONFIG... [KEY=VALUE...]", help="Config files, and setting overrides of all.")
]
CompareSeeds = Annotated[int | None, integer_option(min=1, help="Number of seeds. (default: 3, or one per fold)")]
CompareFolds = Annotated[
    int | None, integer_option(min=2, help="Number of cross-validation folds, instead of seeds; stratified for labels.")
]
CompareFolder = Annotated[
    Path | None, folder_option(help="Folder of runs, results and report. (default: runs/compare-...)")
]
Grid = Annotated[
    list[str] | None, typer.Option(metavar="KEY=A,B", help="Values of a setting; several grids are crossed.")
]
BaselineOption = Annotated[str | None, name_option(help="Baseline of the comparison. (default: the first)")]
RunMinutes = Annotated[float | None, _of_budget(min=0.01, metavar="NUMBER", help="Time limit, wall clock.")]
CoreMinutes = Annotated[
    float | None, _of_budget(min=0.01, metavar="NUMBER", help="CPU time limit, all threads: fair on a shared machine.")
]
Updates = Annotated[int | None, _of_budget(min=1, metavar="INTEGER", help="Maximum number of updates.")]
Jobs = Annotated[
    int, _of_budget("--jobs", "-j", min=1, metavar="INTEGER", help="Runs in parallel; they share the threads.")
]
GoldFiles = Annotated[
    tuple[Path, Path, Path] | None,
    typer.Option(
        "--gold",
        metavar="LINKS SOURCE TARGET",
        help="Gold alignments (3-1, 3p1) and their texts, for the alignment error rate.",
    ),
]
GoldTurned = Annotated[bool, typer.Option("--gold-turned", help="The gold alignments have the target first.")]
AnyData = Annotated[bool, typer.Option("--any-data", help="Allow different training data.")]
Markdown = Annotated[Path | None, file_option(help="Write the report as Markdown.")]


def compare_command(  # noqa: PLR0913  an option each
    words: ConfigsAndChanges,
    *,
    seeds: CompareSeeds = None,
    folds: CompareFolds = None,
    run: CompareFolder = None,
    grid: Grid = None,
    baseline: BaselineOption = None,
    minutes: RunMinutes = None,
    core_minutes: CoreMinutes = None,
    updates: Updates = None,
    jobs: Jobs = 1,
    gold: GoldFiles = None,
    gold_turned: GoldTurned = False,
    any_data: AnyData = False,
    markdown: Markdown = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train several configs and compare them, with p-values.

    All train on the same data with several seeds; a table reports metrics, p-values, sizes and speeds. Runs,
    compare.json and report.html are in the folder. Interrupted, the same command continues.

    regard compare a.yaml b.yaml --seeds 3 --minutes 10
    regard compare a.yaml b.yaml --folds 10
    regard compare a.yaml --grid model.attention.score=dot,bilinear --grid model.dim=128,256 data.folds=10
    """
    from regard.reports.compare.compare import Request
    from regard.reports.compare.measure import gold_links
    from regard.reports.compare.plan import Budget

    check_writable(markdown, "--markdown")
    configs, changes = paths_and_changes(words)
    if not configs:
        raise ConfigError("CONFIG", "must be given", "regard compare a.yaml b.yaml")
    request = Request(
        configs=configs,
        changes=changes if folds is None else [*_in_folds(configs, changes, folds), *changes],
        grids=grid or [],
        folder=run or Path("runs") / f"compare-{configs[0].stem}",
        seeds=seeds,
        budget=Budget(minutes, updates, core_minutes),
        baseline=baseline,
        gold=None if gold is None else gold_links(*gold, turned=gold_turned),
        jobs=jobs,
        any_data=any_data,
        command=shlex.join(["regard", *sys.argv[1:]]),
    )
    _compare(request, markdown, as_json=as_json, quiet=quiet)


def _in_folds(configs: list[Path], changes: list[str], folds: int) -> list[str]:
    """Return the changes for folds, stratified ones for tasks whose answers are labels."""
    from regard.answers import LabelPrediction
    from regard.experiment import read_experiment

    number = f"data.folds={folds}"
    answers = [read_experiment(config, [number, *changes]).task_class.answer for config in configs]
    return [number, "data.stratified=true"] if all(LabelPrediction in one.records for one in answers) else [number]


def _compare(request: "Request", file: Path | None, *, as_json: bool, quiet: bool) -> None:
    from regard.reports.compare.compare import REPORT_PAGE, compare_configs
    from regard.reports.compare.tables import comparison_markdown, comparison_report
    from regard.reports.compare.train import failed_runs

    with resumable():
        compared = compare_configs(request, quiet=quiet)
    if file is not None:
        file.write_text(comparison_markdown(compared), encoding="utf-8")
    emit(comparison_report(compared, get_terminal_size().columns if sys.stdout.isatty() else None), as_json=as_json)
    if not quiet:
        say(f"report: {request.folder / REPORT_PAGE}")
    if compared.failed:
        raise failed_runs(compared.failed)
